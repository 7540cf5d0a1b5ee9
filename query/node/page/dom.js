// Elements made of plain calls. Everything that the page shows is built here, from text nodes and attributes: nothing
// is ever parsed as markup, so no cell, name or text of a lake can become an element, a script or an address.

// Controls other than tab and line ends, and the marks that override, embed or isolate a direction.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; children that are null, undefined or false are left out. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a picture: an element of SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** A text as it can be shown: characters that would turn the text around them, or show nothing at all while a name is
    another one for them, are spelled out. Joiners stay: emoji and scripts are made with them. */
export function visible(text) {
  return text.replace(HIDDEN, (sign) => `·U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}·`);
}

/** Text of the lake, kept apart from the text around it whatever its direction. */
export function data(text, attributes = {}) {
  return el("bdi", attributes, text);
}

/** What only those hear or read who don't see the page. */
export function unseen(text) {
  return el("span", { class: "unseen" }, text);
}

/** A link into this page: a path and its parameters. The lake's text gets into an address only through here, encoded. */
export function address(path, parameters = {}) {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const encoded = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  // Slashes and colons may stay as they are in a query: addresses are read and sent by people.
  const query = encoded.replaceAll("%2F", "/").replaceAll("%3A", ":");
  return query ? `${path}?${query}` : path;
}

/** Says what has happened to those who don't see the page. */
export function announce(text) {
  document.getElementById("announcement").textContent = text;
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) setAttribute(element, name, value);
  }
  element.append(...nodes(children));
  return element;
}

/** Children as they are put on the page: nothing for what is left out, texts made visible. */
export function nodes(children) {
  return [children]
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : visible(String(child))));
}

// Scripts as attributes, styles as attributes and addresses of other schemes are mistakes, whoever makes them.
function setAttribute(element, name, value) {
  if (/^on|^style$|^srcdoc$/i.test(name)) throw new Error(`the attribute ${name} is not to be used`);
  if (/^(href|src|action|formaction)$/i.test(name) && !/^(\/(?!\/)|#|https?:\/\/)/.test(value)) {
    throw new Error(`the address ${value} is not to be used`);
  }
  element.setAttribute(name, visible(String(value)));
}
