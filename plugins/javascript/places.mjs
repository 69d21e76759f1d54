// Where the code of a stack trace is in the text that the user wrote: cells are rewritten before
// they run, and types taken out of them.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { kIsNodeError } = createRequire(import.meta.url)("internal/errors");
const { Map, Error } = globalThis;
const { toString } = Error.prototype;

const MAX_KNOWN = 4096; // files; the oldest are forgotten

const known = new Map(); // by file: a function from a line and a column to those of the user's text, and the place of a wrapper

// remember keeps how to find the places of a file, lines and columns from 1. No user wrote the
// line of its wrapper.
export function remember(file, find, wrapper = 0) {
  known.delete(file);
  known.set(file, { find, wrapper });
  if (known.size > MAX_KNOWN) known.delete(known.keys().next().value);
}

// The hook that V8 asks for the text of a stack trace, in place of Node's. Frames in the
// directory are the kernel's own, which it leaves out.
export function traceStacks(directory) {
  const own = pathToFileURL(directory + "/").href;
  const isOwn = (site) => {
    const file = site.getFileName() ?? "";
    if (file.startsWith(own)) return true;
    if (file === "node:vm") return site.getFunctionName() === "runInThisContext";
    return known.get(file)?.wrapper === site.getLineNumber();
  };
  Error.prepareStackTrace = (error, sites) => {
    const frames = sites.filter((site) => !isOwn(site)).map((site) => `\n    at ${userPlace(String(site))}`);
    return header(error) + frames.join("");
  };
}

function header(error) {
  try {
    const text = Reflect.apply(toString, error, []);
    if (!(kIsNodeError in error) || !text.startsWith(error.name)) return text;
    return `${error.name} [${error.code}]` + text.slice(error.name.length);
  } catch {
    return "<error>";
  }
}

function userPlace(frame) {
  return frame.replace(/([^\s():][^()]*?):(\d+):(\d+)(?=\)?$)/, (place, file, line, column) => {
    const name = file.startsWith("async ") ? file.slice(6) : file;
    const found = known.get(name)?.find(Number(line), Number(column));
    return found ? `${file}:${found[0]}:${found[1]}` : place;
  });
}

// original returns a function that finds, for a place of a text that was edited, the one before.
// Edits are in order: from, to, and the text in place of that. All lines of the text begin
// where they did. Lines and columns are from 1; before it is a prefix that has no columns.
export function original(source, edits) {
  let starts = null;
  return (line, column) => {
    starts ??= edited(source, edits);
    if (line > starts.lines.length) return [line, column];
    const at = starts.lines[line - 1].after + column - 1;
    const before = starts.pieces.findLast((piece) => piece.after <= at) ?? starts.pieces[0];
    const offset = Math.min(before.from + (before.replaced ? 0 : at - before.after), before.to);
    return [line, Math.max(1, offset - starts.lines[line - 1].from + 1)];
  };
}

// edited returns the pieces of the text after the edits, and where its lines begin before and after them.
function edited(source, edits) {
  const pieces = [];
  let after = 0;
  let at = 0;
  const add = (from, to, length, replaced) => {
    if (length > 0) pieces.push({ from, to, after, replaced });
    after += length;
  };
  for (const [from, to, text] of edits) {
    add(at, from, from - at, false);
    add(from, to, text.length, true);
    at = to;
  }
  add(at, source.length, source.length - at + 1, false);
  const code = edits.reduceRight((code, [from, to, text]) => code.slice(0, from) + text + code.slice(to), source);
  const befores = lineStarts(source);
  const lines = lineStarts(code).map((after, i) => ({ after, from: befores[i] ?? source.length }));
  return { pieces, lines };
}

function lineStarts(text) {
  const starts = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) starts.push(index + end.length);
  return starts;
}
