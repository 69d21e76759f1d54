// The completions of code at the cursor, and the value there. They call no function of the user, so the
// members of a getter's value are unknown.

import { builtinModules } from "node:module";
import util from "node:util";

const { Array, Function, Map, Object, Reflect, Set, String } = globalThis;
const { isProxy } = util.types;

const MAX_MATCHES = 1000;
const MAX_LINKS = 100; // prototypes of an object
const MAX_BEFORE = 10000; // characters that are read before the cursor
const MAX_PATH = 1000; // characters of them in one expression
const MAX_SOURCE = 8000; // characters of a function

const NAME = "[\\p{ID_Start}$_][\\p{ID_Continue}$\\u200c\\u200d]*";
const KEYWORDS = (
  "async await break case catch class const continue debugger default delete do else export extends false finally for function if import in " +
  "instanceof let new null of return static super switch this throw true try typeof undefined var void while with yield"
).split(" ");

const STEP = `\\??\\.\\s*#?${NAME}|(?:\\?\\.)?\\[\\s*(?:\\d+|"[^"\\\\\\n]*"|'[^'\\\\\\n]*')\\s*\\]`;
const PATH = new RegExp(`(?:^|[^\\p{ID_Continue}$.\\])])((?:${NAME}|"[^"\\n]*"|'[^'\\n]*'|\`[^\`$]*\`)(?:\\s*(?:${STEP}))*)\\s*\\??\\.\\s*(#?(?:${NAME})?)$`, "u");
const WORD = new RegExp(`(?:^|[^\\p{ID_Continue}$.])((?:${NAME})?)$`, "u");
const WHOLE = new RegExp(`(?:^|[^\\p{ID_Continue}$.\\])])(${NAME}(?:\\s*(?:${STEP}))*)$`, "u");
const MODULE = /(?:\b(?:require|import)\s*\(\s*|\b(?:from|import)\s+)(["'])([\w@:/.-]*)$/;
const REST = new RegExp(`^[\\p{ID_Continue}$]*`, "u");
const DECLARED = new RegExp(`\\b(?:const|let|var|function\\*?|class|enum|namespace|interface|type)\\s+(${NAME})`, "gu");
const NEXT = new RegExp(`^\\s*(?:\\??\\.\\s*(${NAME})|(?:\\?\\.)?\\[\\s*(?:(\\d+)|"([^"]*)"|'([^']*)')\\s*\\])`, "u");

// Node's own accessors of global variables, such as crypto: calling them has no effect.
const given = new Map(
  Object.getOwnPropertyNames(globalThis).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name).get]).filter(([, get]) => get),
);

// complete returns the completions of the name before the cursor, and its range in characters.
export function complete(code, cursor) {
  const { before, offset } = split(code, cursor);
  const module = MODULE.exec(before.slice(-MAX_PATH))?.[2];
  if (module !== undefined) return modules(module, offset);
  const path = PATH.exec(before.slice(-MAX_PATH));
  const start = path ? path[2] : WORD.exec(before.slice(-MAX_PATH))?.[1];
  if (start === undefined) return { matches: [], cursor_start: offset, cursor_end: offset }; // after a call, whose result is unknown
  const all = path ? members(path[1]) : names(before);
  const matches = [];
  for (const name of all) {
    if (matches.length === MAX_MATCHES) break;
    if (name.startsWith(start) && /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) matches.push({ text: name, type: path ? "property" : KEYWORDS.includes(name) ? "keyword" : "instance" });
  }
  return { matches, cursor_start: offset - [...start].length, cursor_end: offset };
}

// modules returns Node's own modules whose names begin so.
function modules(start, offset) {
  const all = builtinModules.filter((name) => !name.startsWith("_")).flatMap((name) => [name, `node:${name}`]);
  const matches = all.filter((name) => name.startsWith(start) && (start.includes(":") || !name.includes(":"))).map((text) => ({ text, type: "module" }));
  return { matches, cursor_start: offset - [...start].length, cursor_end: offset };
}

// inspect returns the value at the cursor as text.
export function inspect(code, cursor) {
  const { before, after } = split(code, cursor);
  const path = WHOLE.exec(before.slice(-MAX_PATH).replace(/[.(\s]+$/, "") + (/[.(\s]$/.test(before) ? "" : REST.exec(after)[0]));
  const found = path ? follow(path[1]) : null;
  return found === null ? { found: false, data: {} } : { found: true, data: { "text/plain": describe(found.value) } };
}

function split(code, cursor) {
  const characters = [...String(code)];
  const offset = Math.min(Math.max(0, Math.trunc(cursor ?? characters.length)), characters.length);
  return { before: characters.slice(Math.max(0, offset - MAX_BEFORE), offset).join(""), after: characters.slice(offset, offset + MAX_BEFORE).join(""), offset };
}

function names(before) {
  const declared = [...before.matchAll(DECLARED)].map((match) => match[1]);
  const globals = Object.getOwnPropertyNames(globalThis);
  return new Set([...declared, ...Object.keys(globalThis), ...globals.sort(), ...KEYWORDS]);
}

// members returns the names of the properties of the value that a path leads to.
function members(path) {
  const found = follow(path);
  const all = new Set();
  if (found === null || found.value === null || found.value === undefined) return all;
  let object = Object(found.value);
  for (let i = 0; object !== null && !isProxy(object) && i < MAX_LINKS; i++) {
    if (!isIndexed(object)) for (const name of Object.getOwnPropertyNames(object)) all.add(name);
    object = Object.getPrototypeOf(object);
  }
  return all;
}

// isIndexed reports whether an object may have very many numeric names.
function isIndexed(object) {
  return util.types.isTypedArray(object) || (Array.isArray(object) && object.length > 1000) || (object instanceof String && object.length > 1000);
}

// follow returns the value that a path of names leads to, or null if it is unknown.
function follow(path) {
  const literal = /^["'`]/.exec(path);
  const first = literal ? new RegExp(`^${literal[0]}[^${literal[0]}]*${literal[0]}`).exec(path)[0] : new RegExp(`^${NAME}`, "u").exec(path)[0];
  let found = literal ? { value: first.slice(1, -1) } : first === "globalThis" || first === "this" ? { value: globalThis } : property(globalThis, first);
  let rest = path.slice(first.length);
  while (found !== null && rest.trim() !== "") {
    const next = NEXT.exec(rest);
    if (!next) return null;
    const name = next.slice(1).find((part) => part !== undefined);
    found = found.value === null || found.value === undefined ? null : property(Object(found.value), name);
    rest = rest.slice(next[0].length);
  }
  return found;
}

function property(object, name) {
  for (let i = 0; object !== null && i < MAX_LINKS; i++) {
    if (isProxy(object)) return null;
    const there = Object.getOwnPropertyDescriptor(object, name);
    if (there && "value" in there) return { value: there.value };
    if (there) return object === globalThis && there.get && given.get(name) === there.get ? { value: Reflect.apply(there.get, globalThis, []) } : null;
    object = Object.getPrototypeOf(object);
  }
  return null;
}

function describe(value) {
  if (typeof value !== "function") return `${kind(value)}\n${util.inspect(value, { depth: 1, customInspect: false, getters: false, maxStringLength: MAX_SOURCE, maxArrayLength: 20 })}`;
  const source = Reflect.apply(Function.prototype.toString, value, []);
  return `${/^class\b/.test(source) ? "class" : "function"} ${nameOf(value)}\n${source.length > MAX_SOURCE ? source.slice(0, MAX_SOURCE) + "…" : source}`;
}

function kind(value) {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  if (isProxy(value)) return "Proxy";
  const made = property(value, "constructor")?.value;
  return typeof made === "function" ? nameOf(made) : "object";
}

function nameOf(made) {
  const name = isProxy(made) ? "" : property(made, "name")?.value;
  return typeof name === "string" && name !== "" ? name : "(anonymous)";
}
