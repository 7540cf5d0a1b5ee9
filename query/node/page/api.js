// Questions to the node. An answer is JSON, or a `Failure` that says what failed and what to do. A question whose
// signal is aborted is never answered, not even from memory: an old answer cannot overwrite a newer one.

import { forgetKey, key } from "./key.js";

const PATIENCE_MS = 30_000;
// A judge reads tables for up to a minute on a processor, rows are read from the lake, and a description is a run over its table.
const LONG_PATIENCE_MS = 150_000;
const LONG = ["/v1/search", "/v1/sql", "/v1/table/rows"];
const REMEMBERED = 40;

const answers = new Map();

/** Why there is no answer, in words for the person who asked. */
export class Failure extends Error {
  constructor({ code, message, remedy = "", retryAfter = null, requestId = null }) {
    super(message);
    this.code = code;
    this.remedy = remedy;
    this.retryAfter = retryAfter;
    this.requestId = requestId;
  }
}

/** Asks `path` with `parameters`. With `remembered`, an answer that this page has had is given again: for the way back. */
export async function ask(path, parameters = {}, { signal, remembered = false } = {}) {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const address = `${path}?${new URLSearchParams(pairs)}`;
  if (remembered && answers.has(address)) {
    signal?.throwIfAborted();
    return answers.get(address);
  }
  const answer = await read(await send(address, { signal }), signal);
  remember(address, answer);
  return answer;
}

/** Asks with a body: a JSON object. The answer is not remembered. */
export async function query(path, body, { signal } = {}) {
  return read(await send(path, { signal, ...saying("POST", body) }), signal);
}

async function read(response, signal) {
  const answer = await response
    .text()
    .then((text) => JSON.parse(text, exactly))
    .catch(() => {
      signal?.throwIfAborted();
      throw unreadable();
    });
  signal?.throwIfAborted();
  return answer;
}

// An integer that a number here cannot hold is shown as it was sent, by browsers that report how
// that was.
function exactly(_, value, sent) {
  const isOff = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isOff && typeof sent?.source === "string" ? sent.source : value;
}

/** Sends the node a JSON object. */
export const post = (path, body) => submit("POST", path, body);

/** Puts something in the place of what was there: a JSON object. */
export const put = (path, body) => submit("PUT", path, body);

async function submit(method, path, body) {
  await send(path, saying(method, body));
}

const saying = (method, body) => ({
  method,
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json" },
});

/** Forgets all answers: they were another person's, or are to be asked for anew. */
export function forgetAnswers() {
  answers.clear();
}

function remember(address, answer) {
  answers.delete(address);
  answers.set(address, answer);
  if (answers.size > REMEMBERED) answers.delete(answers.keys().next().value);
}

async function send(address, { signal, headers = {}, ...options }) {
  const takesLong = LONG.some((path) => address.startsWith(path)) || options.method === "PUT";
  const patience = AbortSignal.timeout(takesLong ? LONG_PATIENCE_MS : PATIENCE_MS);
  const own = key();
  let response;
  try {
    response = await fetch(address, {
      ...options,
      headers: { Accept: "application/json", ...(own ? { Authorization: `Bearer ${own}` } : {}), ...headers },
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
      credentials: "same-origin",
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw patience.aborted ? tooSlow() : unreached();
  }
  if (response.ok) return response;
  throw await failureOf(response);
}

async function failureOf(response) {
  const { error = {}, request_id: requestId = null } = (await response.json().catch(() => null)) ?? {};
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  if (response.status === 401) {
    forgetKey();
    forgetAnswers();
  }
  return new Failure({
    code: error.code ?? codeOf(response.status),
    message: error.message ?? `The node answered with status ${response.status}.`,
    remedy: error.remedy ?? "",
    retryAfter: Number.isFinite(seconds) ? seconds : null,
    requestId,
  });
}

// What a status means where something between the page and the node has answered, in words of its own.
function codeOf(status) {
  const codes = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    429: "too_many_requests",
    502: "unavailable",
    503: "busy",
    504: "timeout",
  };
  return codes[status] ?? (status < 500 ? "bad_request" : "internal");
}

const tooSlow = () =>
  new Failure({
    code: "timeout",
    message: "The node took too long to answer.",
    remedy: "Ask again, or ask for fewer tables.",
  });

const unreached = () =>
  navigator.onLine === false
    ? new Failure({
        code: "offline",
        message: "This device is offline.",
        remedy: "Connect it to the network, then try again.",
      })
    : new Failure({
        code: "unreached",
        message: "The node cannot be reached.",
        remedy: "See whether it runs and whether your network leads there, then try again.",
      });

const unreadable = () =>
  new Failure({
    code: "internal",
    message: "The answer could not be read.",
    remedy: "Something between this page and the node may have changed it; try again.",
  });
