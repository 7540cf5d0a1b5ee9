// Questions to the node. An answer is JSON, or a `Failure` that says what failed and what to do. A question whose
// signal is aborted is never answered, not even from memory: an old answer cannot overwrite a newer one.

import { forgetKey, key } from "./key.js";

const PATIENCE_MS = 30_000;
// A judge reads tables for up to a minute on a processor, rows are read from the lake, and a description is a run over its table.
const LONG_PATIENCE_MS = 150_000;
const LONG = ["/v1/search", "/v1/sql", "/v1/table/rows"];
// A node that is at work says at least every quarter of a minute that it is.
const SILENCE_MS = 60_000;
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

/** Asks with a body, and calls `on` with each step that the node reports on the way to the answer. With `remembered`, an answer
    that this page has had is given again, without steps. */
export async function follow(path, body, { signal, remembered = false, on }) {
  const name = `${path} ${JSON.stringify(body)}`;
  if (remembered && answers.has(name)) {
    signal.throwIfAborted();
    return answers.get(name);
  }
  const silence = new AbortController();
  let timer = 0;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
  };
  heard();
  try {
    const { headers, ...options } = saying("POST", body);
    const events = { ...headers, Accept: "text/event-stream" };
    const response = await send(path, { ...options, headers: events, signal, patience: silence.signal });
    for await (const step of steps(response.body.getReader(), heard)) {
      signal.throwIfAborted();
      if (step.event === "problem") throw new Failure(step.problem);
      if (step.event === "answer") {
        remember(name, step.answer);
        return step.answer;
      }
      on(step);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    throw silence.signal.aborted ? tooSlow() : unreached();
  } finally {
    clearTimeout(timer);
  }
  throw unreadable();
}

// The data of server-sent events, each a JSON object; comments say only that the node is there.
async function* steps(reader, heard) {
  const decoder = new TextDecoder();
  let line = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const [end, ...others] = decoder.decode(value, { stream: true }).split("\n");
    line.push(end);
    for (const begun of others) {
      const whole = line.join("");
      line = [begun];
      if (whole.startsWith("data:")) yield parsed(whole.slice("data:".length));
    }
  }
}

function parsed(text) {
  try {
    return JSON.parse(text, exactly);
  } catch {
    throw unreadable();
  }
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

async function send(address, { signal, headers = {}, patience = null, ...options }) {
  patience ??= patienceFor(address, options.method);
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

function patienceFor(address, method) {
  const takesLong = LONG.some((path) => address.startsWith(path)) || method === "PUT";
  return AbortSignal.timeout(takesLong ? LONG_PATIENCE_MS : PATIENCE_MS);
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
