// Notices: what went wrong and what to do about it, and short remarks.

import { el } from "./dom.js";
import { counted, sentence } from "./format.js";
import { askForKey } from "./key.js";

/** A failure, in words, with what can be done: `retry` is tried by a button, with a key where one is asked for. */
export function failureNotice(failure, retry, heading = "h1") {
  const wantsKey = failure.code === "unauthorized";
  return el(
    "div",
    { class: wantsKey ? "notice" : "notice failure", role: "alert" },
    el(heading, {}, titleOf(failure)),
    el("p", { dir: "auto" }, sentence(failure.message)),
    failure.remedy && el("p", { dir: "auto" }, sentence(failure.remedy)),
    failure.retryAfter !== null && el("p", {}, `The node asks to wait ${counted(failure.retryAfter, "second")}.`),
    el(
      "p",
      { class: "buttons" },
      wantsKey && el("button", { class: "main", type: "button", click: () => askForKey(retry) }, "Enter a key"),
      el("button", { class: wantsKey ? "quiet" : "main", type: "button", click: retry }, "Try again"),
    ),
    failure.requestId && el("p", { class: "faint" }, "Request ", el("code", {}, failure.requestId)),
  );
}

/** A short remark; nothing is wrong. */
export function remark(...content) {
  return el("div", { class: "notice" }, content);
}

/** Where there is nothing to show. */
export function emptiness(text) {
  return el("p", { class: "faint" }, text);
}

function titleOf({ code }) {
  const titles = {
    bad_request: "That question cannot be answered",
    unauthorized: "This node asks for a key",
    forbidden: "Your key does not allow this",
    not_found: "Not found",
    too_large: "That is too much at once",
    too_many_requests: "Too many questions at once",
    busy: "The node is busy",
    timeout: "That took too long",
    unavailable: "The node is not ready",
    offline: "You are offline",
    unreached: "No answer",
  };
  return titles[code] ?? "Something went wrong";
}
