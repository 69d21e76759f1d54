// Errors of executions: their text on standard error, and their envelopes.

import { createRequire } from "node:module";
import util from "node:util";
import { write } from "./output.mjs";

const { decorateErrorStack } = createRequire(import.meta.url)("internal/util");

// A copy of a name that user code may replace.
const { process } = globalThis;

const HERE = process.argv[2];
const WORKSPACE = process.cwd();

const MAX_MESSAGE = 16000; // characters
const MAX_FRAMES = 200;

export class Interrupted extends Error {}

// Refused says why and where code does not compile: line and column from 1.
export class Refused extends Error {
  constructor(message, filename, source, line, column) {
    super(`${filename}:${line}:${column}: ${message}`);
    this.place = `${filename}:${line}:${column}`;
    this.shown = `${this.place}\n${source.split("\n")[line - 1]}\n${" ".repeat(column - 1)}^\n\nSyntaxError: ${message}\n`;
  }
}

// explain shows an error of any kind and returns its envelope.
export function explain(error, before = "Uncaught ") {
  if (error instanceof Interrupted) return report("Interrupted\n", "KeyboardInterrupt", "", []);
  if (error instanceof Refused) return report(error.shown, "SyntaxError", error.message, [error.place]);
  try {
    if (error instanceof SyntaxError) decorateErrorStack(error); // adds the place in an imported file
    if (error === null || typeof error !== "object") return report(`${before}${String(error)}\n`, "Error", String(error), []);
    const type = String(error.name || error.constructor?.name || "Error");
    const message = String(error.message ?? util.inspect(error));
    const why = message === "fetch failed" && error.cause?.message ? `: ${error.cause.message}` : ""; // Node's own message gives no reason
    return report(before + shorten(inFull(error)) + "\n", type, message + why, framesOf(error));
  } catch {
    return report(`${before}error that cannot be read\n`, "Error", "<the error cannot be read>", []);
  }
}

// framesOf returns the user's lines of an error, outermost first, and then those of the errors in an AggregateError.
function framesOf(error, depth = 0) {
  const own = String(error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line) && isOwn(line)).map((line) => shorten(line).trim());
  const lines = own.slice(0, MAX_FRAMES).reverse();
  if (error.name !== "AggregateError" || !Array.isArray(error.errors) || depth > 10) return lines;
  for (const inner of error.errors.slice(0, MAX_FRAMES)) {
    if (lines.length >= MAX_FRAMES) break;
    const isError = util.types.isNativeError(inner);
    const text = isError ? `${inner.name}: ${inner.message}` : util.inspect(inner);
    lines.push(`in the group: ${text.slice(0, MAX_MESSAGE)}`, ...(isError ? framesOf(inner, depth + 1) : []));
  }
  return lines.slice(0, MAX_FRAMES);
}

// inFull is the text of an error with its causes and properties, and only the user's frames.
function inFull(error) {
  const kept = [];
  for (const line of util.inspect(error).split("\n")) {
    if (!/^\s+at /.test(line) || isOwn(line)) kept.push(line);
    else if (line.endsWith(" {")) kept[kept.length - 1] += " {"; // the error's properties follow
  }
  return kept.join("\n");
}

export function report(shown, type, message, stacktrace) {
  write(2, shown);
  if (message.length > MAX_MESSAGE) message = message.slice(0, MAX_MESSAGE) + `… (${message.length} characters in all)`;
  return { type, message, stacktrace };
}

function isOwn(line) {
  if (line.includes("node_modules") || line.includes("node:") || line.includes(HERE + "/")) return false;
  return line.includes("<cell ") || line.includes(WORKSPACE + "/") || line.includes(process.cwd() + "/");
}

export function shorten(text) {
  return text.replaceAll("file://", "").replaceAll(WORKSPACE + "/", "").replaceAll(HERE + "/", "");
}
