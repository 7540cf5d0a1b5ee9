// The key that a person types. It is kept for this tab and session alone (sessionStorage), never in the address or a
// cookie, and forgotten when the node refuses it.

import { el, unseen } from "./dom.js";

const PLACE = "limn-key";

// A browser may deny storage altogether; then the key is kept until the page is left.
let unstored = null;

/** The key in use, or null. */
export function key() {
  try {
    return sessionStorage.getItem(PLACE) ?? unstored;
  } catch {
    return unstored;
  }
}

export function forgetKey() {
  keep(null);
  showState();
}

function keep(text) {
  unstored = null;
  try {
    if (text === null) sessionStorage.removeItem(PLACE);
    else sessionStorage.setItem(PLACE, text);
  } catch {
    unstored = text;
  }
}

/** Asks for a key in a dialog; `changed` is called after one was set or forgotten. */
export function askForKey(changed) {
  const input = el("input", {
    id: "key-text",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "10000",
  });
  const close = () => dialog.close();
  const use = () => {
    // Header values hold no line ends or other controls; a pasted key may end with one.
    const text = input.value.replace(/\s+/g, "");
    if (!/^[\x21-\x7e]+$/.test(text)) {
      input.setCustomValidity("A key is made of letters, digits and signs.");
      input.reportValidity();
      return;
    }
    keep(text);
    close();
    changed();
  };
  const forget = () => {
    forgetKey();
    close();
    changed();
  };
  const dialog = el(
    "dialog",
    {
      "aria-labelledby": "key-title",
      close: () => {
        dialog.remove();
        showState();
      },
    },
    el(
      "form",
      {
        submit: (event) => {
          event.preventDefault();
          use();
        },
      },
      el("h2", { id: "key-title" }, "Your key"),
      el(
        "p",
        {},
        "The node’s operator gives it out. It is kept in this tab until you close it, and sent to this node only.",
      ),
      el("label", { for: "key-text" }, "Key"),
      input,
      el(
        "p",
        { class: "buttons" },
        el("button", { class: "main", type: "submit" }, "Use this key"),
        key() && el("button", { type: "button", click: forget }, "Forget the key"),
        el("button", { class: "quiet", type: "button", click: close }, "Cancel"),
      ),
    ),
  );
  input.addEventListener("input", () => input.setCustomValidity(""));
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
}

/** Shows at the button whether a key is in use: by a dot, and in words for those who don't see it. */
export function showState() {
  const button = document.getElementById("key");
  button.classList.toggle("kept", key() !== null);
  button.replaceChildren("Key", ...(key() === null ? [] : [unseen(" in use")]));
}
