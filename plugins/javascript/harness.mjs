// Runs one piece of user code in a sandbox and reports its outcome.
//
//     node FLAGS harness.mjs spec.json [HOST:PORT]
//
// The outcome goes to descriptor 3, once: {"result": value} of a handler, or {"error":
// {"type", "message", "stacktrace"}} of a failure. Code that succeeds has only its exit
// code and output. With HOST:PORT, a handler is loaded once and serves the invocations of
// the AWS Lambda Runtime API at that address; the outcomes go there. Needs Node 18 or
// later, with --experimental-vm-modules and --experimental-import-meta-resolve.

import fs from "node:fs";
import Module, { createRequire, isBuiltin } from "node:module";
import net from "node:net";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import util from "node:util";
import vm from "node:vm";

const { stringify } = JSON; // before the code can replace it
const FD = 3;
const WORKSPACE = process.cwd();
const MAX_MESSAGE = 16000; // characters
const MAX_FRAMES = 200;
const MAX_NAMES = 20;

const spec = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const HERE = path.dirname(process.argv[2]);
const SNIPPET = path.join(HERE, "main.mjs");
// The code's name and the base of its imports. A snippet is not in a file of that name,
// but behaves as if it were in the working directory.
const MAIN = spec.entry ? path.resolve(WORKSPACE, spec.entry) : path.join(WORKSPACE, "main.js");

// Invocations is the connection to the Runtime API. It keeps the event loop alive while it
// waits for an invocation, but not while one runs.
class Invocations {
  constructor(address) {
    this.address = address;
    this.data = Buffer.alloc(0);
    this.wake = null;
  }

  async connect() {
    const [host, port] = this.address.split(":");
    const socket = (this.socket = net.connect({ host, port: Number(port), noDelay: true }));
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    socket.removeAllListeners("error").on("error", () => {}).on("close", () => {
      if (this.socket === socket) this.socket = null;
      this.wake?.();
    });
    socket.on("data", (data) => {
      if (this.socket !== socket) return;
      this.data = Buffer.concat([this.data, data]);
      this.wake?.();
    });
  }

  request(method, path, body) {
    const head = `${method} /2018-06-01/runtime/${path} HTTP/1.1\r\nHost: ${this.address}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return Buffer.from(head + body);
  }

  async ask(method, path, body = "") {
    if (!this.socket) await this.connect();
    this.socket.ref();
    this.data = Buffer.alloc(0);
    this.socket.write(this.request(method, path, body));
    for (;;) {
      const answer = this.answer();
      if (answer) {
        this.socket?.unref();
        if (answer.header.connection === "close") this.socket = null;
        return answer;
      }
      if (!this.socket) return null; // the host breaks off a response that is too large
      await new Promise((resolve) => (this.wake = resolve));
    }
  }

  // The response, once it is complete.
  answer() {
    const end = this.data.indexOf("\r\n\r\n");
    if (end < 0) return null;
    const header = {};
    for (const line of this.data.toString("latin1", 0, end).split("\r\n").slice(1)) {
      const colon = line.indexOf(":");
      header[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const body = this.data.subarray(end + 4);
    return body.length < Number(header["content-length"] ?? 0) ? null : { header, body };
  }

  // tell sends a request while the process ends and events no longer come: it writes and reads
  // synchronously.
  tell(path, body) {
    const fd = this.socket?._handle?.fd;
    if (!(fd >= 0)) return;
    const until = Date.now() + 1000;
    const patiently = (act) => {
      while (Date.now() < until) {
        try {
          return act();
        } catch (error) {
          if (error.code !== "EAGAIN") return 0;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        }
      }
      return 0;
    };
    let data = this.request("POST", path, body);
    while (data.length > 0) {
      const written = patiently(() => fs.writeSync(fd, data));
      if (written === 0) return;
      data = data.subarray(written);
    }
    patiently(() => fs.readSync(fd, Buffer.alloc(4096))); // the response confirms the request
  }
}

const api = process.argv[3] ? new Invocations(process.argv[3]) : null;

function inWordsOfLambda(error) {
  return JSON.stringify({ errorType: error.type, errorMessage: error.message, stackTrace: error.stacktrace });
}

let told = false;
let submitted = false; // the code only defines things, and its handler is called
let held = null; // the envelope of the last expression
let left = false; // Node reports the error
let pending = null; // the error message if the event loop empties now

// The exit codes of the harness. The code's own can have any value.
const EXIT_FAILED = 1;
const EXIT_UNSETTLED = 13; // as node has for a top-level await that never ends

function tell(envelope) {
  tellText(JSON.stringify(envelope));
}

function tellText(text) {
  if (told) return;
  told = true;
  if (api) return api.tell("init/error", inWordsOfLambda(JSON.parse(text).error));
  let data = Buffer.from(text);
  try {
    while (data.length > 0) data = data.subarray(fs.writeSync(FD, data));
  } catch {
    // The code has closed the descriptor.
  }
}

// The code can throw errors of any kind, strings and undefined.
function describe(error) {
  if (error instanceof Failure) return { type: error.type, message: error.message, stacktrace: [] };
  let type = "Error";
  let message = "";
  let stacktrace = [];
  try {
    if (error !== null && typeof error === "object") {
      type = String(error.name || error.constructor?.name || "Error");
      message = String(error.message ?? JSON.stringify(error));
      stacktrace = frames(error);
    } else {
      message = String(error);
    }
  } catch {
    message = "<the error cannot be read>";
  }
  if (message.length > MAX_MESSAGE) message = message.slice(0, MAX_MESSAGE) + `… (${message.length} characters in all)`;
  return { type, message, stacktrace };
}

// The frames of the user's own files, outermost first.
function frames(error) {
  const lines = String(error.stack ?? "").split("\n");
  const own = lines.filter((line) => /^\s+at /.test(line) && isOwn(line)).map((line) => shorten(line).trim());
  return own.slice(0, MAX_FRAMES).reverse();
}

function isOwn(line) {
  if (line.includes("node_modules") || line.includes("node:") || line.includes("harness.mjs")) return false;
  return line.includes(WORKSPACE + "/") || line.includes(HERE + "/") || line.includes("(main.ts:");
}

function shorten(text) {
  text = text.replace(shifted.place, (place, column) => (column > shifted.from + shifted.by ? place.slice(0, -column.length) + (column - shifted.by) : place));
  return text.replaceAll("file://", "").replaceAll(WORKSPACE + "/", "").replaceAll(SNIPPET, path.basename(MAIN)).replaceAll(HERE + "/", "");
}

// The first line of a compile error names its place: "/workspace/main.js:3".
function compileError(error) {
  const stack = String(error.stack ?? "");
  const place = /^(?:file:\/\/)?(.*):(\d+)\n(?:.*\n( *)\^)?/.exec(stack); // the column is not always there
  let where = path.basename(MAIN);
  if (place) where = [shorten(place[1]), place[2], place[3] === undefined ? null : place[3].length + 1].filter((part) => part !== null).join(":");
  process.stderr.write(shorten(stack.split("\n    at ")[0]) + "\n");
  return { type: "SyntaxError", message: `${where}: ${error.message}`, stacktrace: place ? [where] : [] };
}

function fail(error) {
  show(error);
  tell({ error: describe(error) });
  process.exit(EXIT_FAILED);
}

// show writes the error to standard error as Node does for an uncaught exception.
function show(error) {
  if (!(error instanceof Failure) && error !== null && typeof error === "object" && error.stack) {
    const kept = String(error.stack).split("\n").filter((line) => !/^\s+at .*(harness\.mjs|node:internal)/.test(line));
    process.stderr.write("Uncaught " + shorten(kept.join("\n")) + "\n");
  } else {
    process.stderr.write("Uncaught " + (error instanceof Failure ? `${error.type}: ${error.message}` : String(error)) + "\n");
  }
}

// The last expression is assigned to this global variable. The text of the assignment shifts the columns
// after it, and has no place of its own in a stack trace.
const VALUE = "__yurt_value__";
const CAPTURE = VALUE + "=(";
const NOTHING = Symbol("no value");
const shifted = { place: /$^/, from: 0, by: 0 };

// prepare returns the source to run, extended to give the harness the declared handler and the
// value of the last expression. It finds out whether the code only defines things.
async function prepare(source) {
  const name = handlerName();
  const declared = isName(name) ? `\n;typeof ${name} === "function" && (globalThis[Symbol.for("yurt.handler")] = ${name});` : "";
  if (spec.kind === "handler") return source + declared;
  if (!spec.handler && endsInCall(source)) return source;
  const { parse, onlyDefines, lastExpression } = await import("./syntax.mjs");
  let body;
  try {
    body = parse(source).body;
  } catch {
    return source; // new syntax, or wrong code
  }
  if (spec.handler && onlyDefines(body, name)) {
    submitted = true;
    return source + declared;
  }
  const last = lastExpression(source, body);
  if (!last) return source;
  Object.defineProperty(globalThis, VALUE, { value: NOTHING, writable: true, configurable: true });
  shifted.place = new RegExp(`${path.basename(MAIN).replaceAll(".", "\\.")}:${last.line}:(\\d+)`, "g");
  [shifted.from, shifted.by] = [last.column, CAPTURE.length];
  return source.slice(0, last.start) + CAPTURE + source.slice(last.start, last.end) + ")" + source.slice(last.end);
}

// endsInCall reports whether the last line is a call of the console, which has no value. Most
// code needs no parser then.
function endsInCall(source) {
  return /(?:^|[;)}\w'"`\]]\s*\n)[ \t]*console\.\w+\((?:[^()'"`\\/]|'[^'\\\n]*'|"[^"\\\n]*"|`[^`$\\]*`)*\);?\s*$/.test(source);
}

function handlerName() {
  return spec.handler?.slice(spec.handler.lastIndexOf(".") + 1);
}

function isName(text) {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(text ?? "");
}

// hold keeps the value of the last expression for the end of the run.
function hold() {
  const value = globalThis[VALUE];
  delete globalThis[VALUE];
  if (value === NOTHING) return; // it was not reached
  const keep = (value) => (held = value === undefined ? null : valueEnvelope(value));
  if (util.types.isPromise(value)) value.then(keep); // this promise reports a rejection
  else keep(value);
}

// load runs the code and returns what it exports.
async function load() {
  if (spec.defines) submitted = await definesHandler(spec.defines);
  if (spec.entry && isModuleFile(MAIN)) {
    lookElsewhere();
    return await import(pathToFileURL(MAIN).href).catch(atLoad);
  }
  const source = fs.readFileSync(spec.entry ? MAIN : SNIPPET, "utf8").replace(/^\ufeff/, "").replace(/^#!.*/, "");
  const script = compile(() => vm.compileFunction(source, ["exports", "require", "module", "__filename", "__dirname"], { filename: MAIN }));
  if (!script.error) return runCommonJS(spec.entry ? source : await prepare(source));
  if (spec.entry && MAIN.endsWith(".cjs")) refuse(script.error);
  const module = compile(() => sourceModule(source));
  if (!module.error) return await runModule(spec.entry ? module.value : sourceModule(await prepare(source)));
  if (!/^\s*(import|export)\b/m.test(source) || spec.entry) refuse(script.error);
  return await import(pathToFileURL(SNIPPET).href).catch(leave); // for an error with its place
}

function compile(attempt) {
  try {
    return { value: attempt() };
  } catch (error) {
    return { error };
  }
}

function refuse(error) {
  tell({ error: compileError(error) });
  process.exit(EXIT_FAILED);
}

// Recognises the syntax error of an imported file: an error that code throws has frames
// of the user.
function atLoad(error) {
  if (error instanceof SyntaxError && frames(error).length === 0) return leave(error);
  throw error;
}

// leave lets Node end with the error: only Node knows its place, and prints it. The
// runtime reads it from standard error.
function leave(error) {
  if (api) tell({ error: error instanceof SyntaxError ? compileError(error) : describe(error) }); // Node's output has no reader
  left = true;
  Promise.reject(error);
  return new Promise(() => {});
}

function isModuleFile(file) {
  if (/\.mjs$/.test(file)) return true;
  if (!/\.js$/.test(file)) return false;
  for (let dir = path.dirname(file); ; dir = path.dirname(dir)) {
    try {
      return JSON.parse(fs.readFileSync(path.join(dir, "package.json"), "utf8")).type === "module";
    } catch (error) {
      if (error.code !== "ENOENT") return false;
    }
    if (dir === path.dirname(dir)) return false;
  }
}

// definesHandler reports whether the file, which was compiled from the user's code, only defines things.
async function definesHandler(file) {
  const { parse, onlyDefines } = await import("./syntax.mjs");
  try {
    const source = fs.readFileSync(file, "utf8");
    const theirs = parse(source).body.filter(({ start, end }) => !source.slice(start, end).includes('Symbol.for("yurt.handler")'));
    return onlyDefines(theirs, handlerName());
  } catch {
    return false;
  }
}

function runCommonJS(source) {
  if (/\bimport\s*\(/.test(source)) lookElsewhere();
  const module = new Module(MAIN, null);
  module.filename = MAIN;
  module.paths = Module._nodeModulePaths(path.dirname(MAIN));
  module.id = ".";
  process.mainModule = module;
  Module._cache[MAIN] = module;
  try {
    module._compile(source, MAIN);
  } catch (error) {
    atLoad(error);
  }
  module.loaded = true;
  return module.exports;
}

function sourceModule(source) {
  const emit = process.emitWarning;
  process.emitWarning = () => {}; // users need no warning of an experimental feature
  try {
    return new vm.SourceTextModule(source, {
      identifier: pathToFileURL(MAIN).href,
      initializeImportMeta(meta) {
        meta.url = pathToFileURL(MAIN).href;
        meta.filename = MAIN;
        meta.dirname = path.dirname(MAIN);
      },
      importModuleDynamically: (name, _, attributes) => importFrom(MAIN, name, attributes),
    });
  } finally {
    process.emitWarning = emit;
  }
}

async function runModule(module) {
  // As in CommonJS: many snippets with a top-level await use require, too.
  globalThis.require ??= createRequire(MAIN);
  await module.link(async (name, _, extra) => {
    const namespace = await importFrom(MAIN, name, extra?.attributes ?? extra?.assert).catch(atLoad);
    const names = Object.keys(namespace);
    return new vm.SyntheticModule(names, function () {
      for (const key of names) this.setExport(key, namespace[key]);
    });
  }).catch(atLoad);
  await module.evaluate();
  return module.namespace;
}

function findHandler(exported) {
  const name = handlerName();
  const found = findFunction(exported, name, globalThis[DECLARED]);
  delete globalThis[DECLARED];
  if (found || spec.kind !== "handler") return found;
  const names = Object.keys(exported ?? {}).filter((key) => typeof exported[key] === "function");
  const has = names.length === 0 ? "it exports no function" : "it exports " + names.slice(0, MAX_NAMES).join(", ");
  throw new Failure("HandlerNotFound", `${path.basename(MAIN)} exports no function named ${name}; ${has}`);
}

const UNFINISHED = "the handler neither returned nor called back, and has no event left to wait for";

// serve calls the handler for all invocations, one after the other.
async function serve(handler) {
  // The plan has this process's name where an invocation's id belongs.
  const given = spec.context.awsRequestId === path.basename(HERE) ? null : spec.context.awsRequestId;
  for (;;) {
    const { header, body } = (await api.ask("GET", "invocation/next")) ?? process.exit(EXIT_FAILED);
    const id = header["lambda-runtime-aws-request-id"];
    const context = newContext({ ...spec.context, awsRequestId: given ?? id }, Number(header["lambda-runtime-deadline-ms"]));
    let text;
    pending = UNFINISHED;
    try {
      text = encodeResult(await callHandler(handler, JSON.parse(body), context), spec.max_result);
    } catch (error) {
      pending = null;
      show(error);
      await api.ask("POST", `invocation/${id}/error`, inWordsOfLambda(describe(error)));
      continue;
    }
    pending = null;
    await api.ask("POST", `invocation/${id}/response`, text);
  }
}

async function main() {
  await api?.connect();
  api?.socket.unref();
  pending = "the code awaits at its top level something that never comes";
  const exported = await load();
  pending = null;
  if (VALUE in globalThis) hold();
  if (spec.kind !== "handler" && !submitted) return;
  const handler = findHandler(exported);
  if (!handler) return; // a name that was imported
  if (api) return await serve(handler);
  pending = UNFINISHED;
  const context = newContext(spec.context, performance.timeOrigin + spec.timeout_ms);
  const text = encodeResult(await callHandler(handler, spec.event ?? {}, context), spec.max_result);
  pending = null;
  tellText(submitted ? `{"handler":${JSON.stringify(spec.handler)},"result":${text}}` : `{"result":${text}}`);
  process.exit(0);
}

process.argv = [process.argv[0], MAIN, ...(spec.args ?? [])];
process.execArgv = [];
process.on("uncaughtExceptionMonitor", (error) => {
  if (!left && process.listenerCount("uncaughtException") === 0) tell({ error: describe(error) });
});
process.on("beforeExit", () => {
  if (pending === null || told) return;
  process.stderr.write(pending + "\n");
  tell({ error: { type: spec.kind === "handler" || submitted ? "HandlerNotFinished" : "UnsettledAwait", message: pending, stacktrace: [] } });
  process.exit(EXIT_UNSETTLED);
});
process.on("exit", (code) => {
  if (held && !told && !left) tellText(held);
  if ((spec.kind === "handler" || submitted) && !told && !left) {
    tell({ error: { type: "ProcessExit", message: `the handler exited with code ${code} instead of returning`, stacktrace: [] } });
  }
});
main().catch(fail);
