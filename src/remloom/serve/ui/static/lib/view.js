// What every page is made with: templates, hooks, the address, and how values are written.

import { html, render, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";

export { html, render, useCallback, useEffect, useLayoutEffect, useRef, useState };

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// Give text as it may be shown: control characters become visible, and none turns the line around.
export function plain(text) {
  return String(text ?? "").replaceAll("\r\n", "\n").replace(CONTROLS, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? "\u2421" : `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
  });
}

// -- the address: #/page/argument?name=value -------------------------------------------------------

export function addressOf(hash = location.hash) {
  const text = hash.replace(/^#\/?/, "");
  const end = text.includes("?") ? text.indexOf("?") : text.length;
  const [path, query] = [text.slice(0, end), text.slice(end + 1)];
  const [page, ...rest] = path.split("/").map(decoded);
  return { page: page || "ask", rest, values: Object.fromEntries(new URLSearchParams(query)) };
}

export function hrefOf(page, rest = [], values = {}) {
  const path = [page, ...rest].map(encodeURIComponent).join("/");
  const kept = Object.entries(values).filter(([, value]) => value !== "" && value != null);
  const query = new URLSearchParams(kept);
  return `#/${path}${query.size ? `?${query}` : ""}`;
}

export function go(...address) {
  location.hash = hrefOf(...address);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// -- loading ---------------------------------------------------------------------------------------

// Load something when `keys` change: {value, error, busy, again}.
export function useLoad(load, keys) {
  const [state, setState] = useState({ busy: true });
  const turn = useRef(0);
  const again = useCallback(async () => {
    const mine = ++turn.current;
    setState((before) => ({ ...before, busy: true, error: null }));
    const found = await settled(load);
    // an answer that a later one has overtaken is dropped
    if (mine === turn.current) setState({ ...found, busy: false });
  }, keys);
  useEffect(() => {
    setState({ busy: true });
    again();
    return () => turn.current++;
  }, keys);
  return { ...state, again };
}

// Do something when asked to: {run, value, error, busy, clear}.
export function useAction(action) {
  const [state, setState] = useState({ busy: false });
  const run = async (...given) => {
    setState({ busy: true });
    const found = await settled(() => action(...given));
    setState({ ...found, busy: false });
    return found;
  };
  return { ...state, run, clear: () => setState({ busy: false }) };
}

async function settled(work) {
  try {
    return { value: await work(), done: true };
  } catch (error) {
    return { error };
  }
}

// Give the browser a file to keep.
export function save(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

// -- writing values --------------------------------------------------------------------------------

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const COUNT = new Intl.NumberFormat();
const SHARE = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });

export const count = (number) => (number == null ? "–" : COUNT.format(number));
export const share = (number) => (number == null ? "–" : SHARE.format(number));
export const decimal = (number, digits = 2) => (number == null ? "–" : number.toFixed(digits));
export const plural = (number, one, many = `${one}s`) =>
  `${count(number)} ${number === 1 ? one : many}`;

export function dateText(at, { time = false } = {}) {
  const date = new Date(at);
  if (!at || Number.isNaN(date.valueOf())) return "";
  return (time ? MOMENT : DAY).format(date);
}

// A name for people of what is stored as `some_name`.
export const title = (name) => {
  const words = String(name ?? "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

// The label of a record, and where it was read.
export const nameOf = (record) => record.name || record.id;

// The name of a record for people: a conversation is called by its chat and when it was.
export function titleOf(record, when = dateText(record.starts_at)) {
  const name = nameOf(record);
  const { session } = record.metadata || {};
  const end = session ? name.lastIndexOf(`, session ${session}`) : -1;
  return end > 0 ? `${title(name.slice(0, end))}, ${when}` : name;
}

// Some of a text, to be looked over: without what marks headings in Markdown.
export const excerptOf = (text) => String(text ?? "").replaceAll(/^#{1,6}\s+/gm, "");

export function sourceOf(record) {
  const { lines, pages } = record.metadata || {};
  const place = lines ? `:${lines.join("-")}` : pages ? `, p. ${pages.join("-")}` : "";
  return record.uri ? `${shortUri(record.uri)}${place}` : "";
}

// The last parts of a path; whole otherwise.
export function shortUri(uri) {
  const parts = uri.split("/");
  return uri.includes("://") || parts.length < 4 ? uri : `…/${parts.slice(-2).join("/")}`;
}
