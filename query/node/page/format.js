// Numbers, sizes, shares and times as people read them.

import { el } from "./dom.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long" });

/** 1234567 → "1,234,567" */
export const number = (value) => whole.format(value);

/** 1234567 → "1.2M" */
export const compact = (value) => short.format(value);

/** "1 row", "2 rows" */
export const counted = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;

/** The rows of a table: "180 rows", "about 1,200 rows", or "rows not counted". */
export function rowCount(rows, isExact = true) {
  if (rows === null || rows === undefined) return "rows not counted";
  return isExact ? counted(rows, "row") : `about ${counted(rows, "row")}`;
}

/** 10896 → "10.6 KiB" */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

/** 0.083 → "8.3 %"; what is neither none nor all never reads as 0 or 100. */
export function share(part) {
  if (part <= 0) return "0 %";
  if (part >= 1) return "100 %";
  const percent = part * 100;
  if (percent < 0.1) return "< 0.1 %";
  if (percent > 99.9) return "> 99.9 %";
  return `${percent < 10 || percent > 99 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

/** 0.7345 → "0.73" */
export const score = (value) => (typeof value === "number" ? value.toFixed(2) : "–");

/** How long a search took: "3.2 ms", "1.4 s". */
export const took = (milliseconds) =>
  milliseconds < 1000
    ? `${milliseconds < 10 ? milliseconds.toFixed(1) : milliseconds.toFixed(0)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;

/** 98765 → "1 day" */
export function duration(seconds) {
  for (const [name, length] of [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ]) {
    if (seconds >= length) return counted(Math.floor(seconds / length), name);
  }
  return counted(Math.floor(seconds), "second");
}

/** A time as "2 days ago", with the exact time in its title; null if there is none. */
export function time(text) {
  const moment = text ? new Date(text) : null;
  if (!moment || Number.isNaN(moment.getTime())) return null;
  return el(
    "time",
    { datetime: moment.toISOString(), title: exact.format(moment) },
    relative((moment - Date.now()) / 1000),
  );
}

/** A message of the node as a sentence: its own begin small and end without a stop, as its log lines do. */
export function sentence(text) {
  const trimmed = String(text).trim();
  const ended = /[.!?…]$/.test(trimmed) ? trimmed : `${trimmed}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}

function relative(seconds) {
  for (const [name, length] of [
    ["year", 31557600],
    ["month", 2629800],
    ["week", 604800],
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ]) {
    if (Math.abs(seconds) >= length * (name === "week" ? 2 : 1)) return ago.format(Math.trunc(seconds / length), name);
  }
  return "just now";
}
