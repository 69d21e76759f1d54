// Maps the places of a stack trace to the user's text: cells are rewritten before they run, and
// types are erased.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { kIsNodeError } = createRequire(import.meta.url)("internal/errors");
const { Map, Error } = globalThis;
const { toString } = Error.prototype;

const MAX_KNOWN = 4096; // files; the oldest are forgotten

const known = new Map(); // by file: a function from a line and a column to those of the user's text, and a wrapper's line

// remember keeps the function that maps the places of a file, with lines and columns from 1. The
// line of a wrapper is not in the user's text.
export function remember(file, find, wrapper = 0) {
  known.delete(file);
  known.set(file, { find, wrapper });
  if (known.size > MAX_KNOWN) known.delete(known.keys().next().value);
}

// traceStacks replaces Node's hook that makes the text of a stack trace for V8. It omits frames
// in the directory, which are the kernel's own.
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

// original returns a function that maps a place in an edited text to the place before the edits.
// Edits are in order: from, to, and the new text. They keep the number of lines. Lines and columns
// are from 1.
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

// edited returns the pieces of the edited text, and the starts of its lines before and after the edits.
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
