// The display of a value: a bundle of MIME types in Jupyter's form. A value defines it by a method
// Symbol.for("Jupyter.display"), which returns the bundle, or by _toMime, _toHtml, _toSvg, _toPng and
// _toJpeg. Other values have the text that Node prints, and JSON if that holds them exactly.

import util from "node:util";

const { Buffer, Map, Object, Promise, Reflect, Symbol } = globalThis;
const { parse, stringify } = JSON;

const MAX_TEXT = 1 << 20; // characters of a plain-text representation
const MAX_JSON = 1 << 20; // characters of JSON beside it
const MAX_BUNDLE = 16 << 20; // characters of a bundle in JSON
const MAX_TYPES = 30;
const TYPE = /^[\x21-\x7e]{1,100}$/; // and a slash

const HOOK = Symbol.for("Jupyter.display");
const METHODS = new Map([["_toHtml", "text/html"], ["_toSvg", "image/svg+xml"], ["_toPng", "image/png"], ["_toJpeg", "image/jpeg"]]);
const FORMS = {
  text: "text/plain", html: "text/html", markdown: "text/markdown", latex: "text/latex", svg: "image/svg+xml",
  png: "image/png", jpeg: "image/jpeg", gif: "image/gif", json: "application/json", javascript: "application/javascript",
};

// plain returns the text that Node prints for a value.
export function plain(value) {
  let text;
  try {
    text = util.inspect(value, { maxStringLength: MAX_TEXT });
  } catch {
    text = "<the value cannot be shown>";
  }
  if (text.length > MAX_TEXT) text = text.slice(0, MAX_TEXT) + `… (${text.length} characters in all)`;
  return text;
}

// bundleOf returns the MIME bundle of a value, or a promise of it if its method returns a promise.
// json is the value as JSON, or null. If a method fails, bundleOf calls complain and shows the
// value as if it had no such method.
export function bundleOf(value, json, complain) {
  const usual = () => ({ "text/plain": plain(value), ...(json && json.length <= MAX_JSON ? { "application/json": parse(json) } : {}) });
  const failed = (error) => {
    complain(error);
    return clean(usual());
  };
  try {
    const said = ask(value);
    if (util.types.isPromise(said)) return said.then((bundle) => clean(bundle, value)).catch(failed);
    return clean(said ?? usual(), value);
  } catch (error) {
    return failed(error);
  }
}

// ask returns the bundle of the value's own method, or null.
function ask(value) {
  if (value === null || (typeof value !== "object" && typeof value !== "function") || util.types.isProxy(value)) return null;
  if (typeof value[HOOK] === "function") return value[HOOK]();
  if (typeof value._toMime === "function") return value._toMime();
  const bundle = {};
  for (const [method, type] of METHODS) if (typeof value[method] === "function") bundle[type] = value[method]();
  return Object.keys(bundle).length > 0 ? bundle : null;
}

// clean returns a bundle that the host accepts: bytes are base64, and a plain text is present.
function clean(bundle, value) {
  if (bundle === null || typeof bundle !== "object") throw new TypeError("a display is an object of MIME types, not " + (bundle === null ? "null" : typeof bundle));
  const kept = {};
  for (const [type, data] of Object.entries(bundle).slice(0, MAX_TYPES)) {
    if (!TYPE.test(type) || !type.includes("/")) throw new TypeError(`${stringify(type.slice(0, 100))} is no MIME type`);
    const form = inForm(type, data);
    if (form !== undefined) kept[type] = form;
  }
  if (Object.keys(kept).length === 0 || (value !== undefined && !("text/plain" in kept))) kept["text/plain"] = plain(value);
  const size = stringify(kept).length;
  return size <= MAX_BUNDLE ? kept : { "text/plain": `<a display of ${size} characters is left out; at most ${MAX_BUNDLE} are shown>` };
}

function inForm(type, data) {
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) return Buffer.from(data).toString(/^text\/|svg/.test(type) ? "utf8" : "base64");
  if (typeof data === "string") return data.toWellFormed?.() ?? data;
  if (/\bjson$/.test(type)) {
    const text = stringify(data);
    return text === undefined ? undefined : parse(text);
  }
  return data === null || data === undefined ? undefined : String(data);
}

// newDisplay returns the function display, which shows values at once. Each of its members shows
// data of one type. show takes a bundle or a promise of one, and the display's id.
export function newDisplay(show, jsonOf, complain) {
  const options = ({ display_id, update } = {}) => ({ ...(display_id === undefined ? {} : { display_id: String(display_id) }), update: Boolean(update) });
  const display = (value, given = {}) => show(given?.raw ? clean(value) : bundleOf(value, jsonOf(value), complain), options(given));
  for (const [name, type] of Object.entries(FORMS)) {
    display[name] = (data, given = {}) => show(clean({ [type]: data }), options(given));
  }
  return display;
}
