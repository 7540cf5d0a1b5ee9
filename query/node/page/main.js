// The page's story: an address is shown by a view; links lead from one to the next without loading anything anew; the
// way back shows what was there, where it was. A view that is left is aborted, so it never paints over a newer one.

import { ask, Failure, forgetAnswers } from "./api.js";
import { answer } from "./answer.js";
import * as question from "./ask.js";
import { browse } from "./browse.js";
import { changes } from "./changes.js";
import { announce } from "./dom.js";
import { askForKey, showState } from "./key.js";
import { failureNotice } from "./notice.js";
import { search } from "./search.js";
import { status } from "./status.js";
import { table } from "./table.js";

// A question is answered by tables, or from their rows.
const asked = (visit) => {
  const { searchParams } = visit.address;
  return question.asksForAnswer(searchParams) && searchParams.get("q")?.trim() ? answer(visit) : search(visit);
};

// Each takes a visit and gives { title, content, announcement }: what the tab, the page and a
// screen reader say.
const VIEWS = { "/": asked, "/table": table, "/browse": browse, "/changes": changes, "/status": status };
// An answer that is there within this time replaces the old view without a sign of waiting.
const QUIET_MS = 180;

const main = document.getElementById("main");
let current = new AbortController();
let shownAddress = "";

/** Leads to an address of this page. */
function go(target) {
  keepPlace();
  if (target === location.pathname + location.search) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  show({ returning: false });
}

/** The address of what is shown already, after a choice on it: there is nothing to load anew. */
function replace(target) {
  history.replaceState(history.state, "", target);
  shownAddress = location.pathname + location.search;
}

async function show({ returning }) {
  current.abort();
  const own = (current = new AbortController());
  const address = new URL(location.href);
  const first = shownAddress === "";
  shownAddress = address.pathname + address.search;
  question.reflect(address);
  document.body.dataset.view =
    address.pathname === "/" && !address.searchParams.get("q")?.trim() ? "home" : address.pathname.slice(1) || "search";
  markPage(address);
  // The old view is out of date from here on; only the sign of it waits.
  main.setAttribute("aria-busy", "true");
  const waiting = setTimeout(() => signWaiting(true), QUIET_MS);
  const { title, content, announcement } = await view(own.signal, address, returning);
  if (own.signal.aborted) return;
  clearTimeout(waiting);
  signWaiting(false);
  document.title = title ? `${title} – limn` : "limn";
  main.replaceChildren(content);
  main.setAttribute("aria-busy", "false");
  place({ first, returning, address });
  if (announcement) announce(announcement);
}

// What the view says, or what went wrong instead.
async function view(signal, address, returning) {
  const visit = {
    address,
    signal,
    go,
    replace,
    returning,
    ask: (path, parameters) => ask(path, parameters, { signal, remembered: returning }),
    again: () => show({ returning: false }),
  };
  try {
    const shown = await (VIEWS[address.pathname] ?? asked)(visit);
    await question.learn();
    return shown;
  } catch (error) {
    if (signal.aborted) return {};
    if (!(error instanceof Failure)) console.error(error);
    const failure =
      error instanceof Failure
        ? error
        : new Failure({ code: "internal", message: "This page made a mistake.", remedy: "Load it again." });
    return { title: "No answer", content: failureNotice(failure, visit.again) };
  }
}

function signWaiting(on) {
  document.body.classList.toggle("waiting", on);
  if (on) announce("Looking…");
}

// Where the reader is put: back where they were, at the box for a question, or at the top of another page.
function place({ first, returning, address }) {
  if (returning) {
    window.scrollTo(0, history.state?.top ?? 0);
    return;
  }
  const part = address.hash && document.getElementById(address.hash.slice(1));
  if (part) part.scrollIntoView();
  else window.scrollTo(0, 0);
  if (address.pathname === "/") {
    // On a small screen a keyboard would cover the answers.
    if (document.body.dataset.view === "home" || (first && matchMedia("(hover: hover)").matches))
      question.focusQuestion();
  } else if (!first) {
    main.focus({ preventScroll: true });
  }
}

function keepPlace() {
  history.replaceState({ ...history.state, top: window.scrollY }, "");
}

function markPage({ pathname }) {
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// A plain press on a link of this page; everything else (new tab, download, another site) is the browser's.
function followed(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || event.defaultPrevented || event.button !== 0) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const target = new URL(link.href);
  if (target.origin !== location.origin || !(target.pathname in VIEWS)) return;
  if (target.hash && target.pathname + target.search === location.pathname + location.search) return;
  event.preventDefault();
  go(target.pathname + target.search);
}

history.scrollRestoration = "manual";
document.addEventListener("click", followed);
window.addEventListener("popstate", () => {
  // Only the part after # has changed: the browser has gone there itself.
  if (location.pathname + location.search !== shownAddress) show({ returning: true });
});
window.addEventListener("pagehide", keepPlace);
let resting = 0;
window.addEventListener(
  "scroll",
  () => {
    clearTimeout(resting);
    resting = setTimeout(keepPlace, 120);
  },
  { passive: true },
);
document.getElementById("key").addEventListener("click", () =>
  askForKey(() => {
    forgetAnswers();
    question.forgetRights();
    show({ returning: false });
  }),
);
showState();
question.start(go);
// Loaded anew, or come back to from another site: the reader is put where they were.
show({ returning: ["reload", "back_forward"].includes(performance.getEntriesByType("navigation")[0]?.type) });
