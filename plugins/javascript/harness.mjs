// Runs one piece of user code in a sandbox and hands over what came of it.
//
//     node FLAGS harness.mjs spec.json [HOST:PORT]
//
// Descriptor 3 takes the outcome, once: {"result": value} of a handler, {"error":
// {"type", "message", "stacktrace"}} of anything that failed. Code that succeeds has
// none: its exit code and output are all there is. With HOST:PORT, a handler is loaded once
// and serves the invocations that the AWS Lambda Runtime API there hands out; the outcomes
// go there. Needs Node 18 or later, with
// --experimental-vm-modules and --experimental-import-meta-resolve.

import fs from "node:fs";
import Module, { createRequire, isBuiltin } from "node:module";
import net from "node:net";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import vm from "node:vm";

const FD = 3;
const WORKSPACE = process.cwd();
const MAX_MESSAGE = 16000; // characters
const MAX_FRAMES = 200;
const MAX_NAMES = 20;

const spec = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const HERE = path.dirname(process.argv[2]);
const SNIPPET = path.join(HERE, "main.mjs");
// What the code is called, and where its imports are looked for. A snippet has no file
// of that name: it is as if it lay in the working directory.
const MAIN = spec.entry ? path.resolve(WORKSPACE, spec.entry) : path.join(WORKSPACE, "main.js");

// Invocations is the connection to the Runtime API. It keeps the event loop alive while an
// invocation is waited for, and not while one runs.
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
      if (!this.socket) return null; // what is too large breaks the connection off
      await new Promise((resolve) => (this.wake = resolve));
    }
  }

  // The answer that has come, when all of it has.
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

  // tell asks while the process ends, when no event comes any more: it writes and reads by hand.
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
    patiently(() => fs.readSync(fd, Buffer.alloc(4096))); // the answer: it was taken
  }
}

const api = process.argv[3] ? new Invocations(process.argv[3]) : null;

function inWordsOfLambda(error) {
  return JSON.stringify({ errorType: error.type, errorMessage: error.message, stackTrace: error.stacktrace });
}

let told = false;
let left = false; // to Node, which says what there is to say
let pending = null; // what is awaited, for whoever drains the event loop before it is done

// The code's exit code can be anything; ours say what happened to it.
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
    // The code closed the descriptor: there is nobody to tell.
  }
}

class Failure extends Error {
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

// Errors of any kind, strings and nothing can be thrown.
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
  return text.replaceAll("file://", "").replaceAll(WORKSPACE + "/", "").replaceAll(SNIPPET, path.basename(MAIN)).replaceAll(HERE + "/", "");
}

// A compile error says where in its first line: "/workspace/main.js:3".
function compileError(error) {
  const stack = String(error.stack ?? "");
  const place = /^(?:file:\/\/)?(.*):(\d+)\n(?:.*\n( *)\^)?/.exec(stack); // the column is not always there
  let where = path.basename(MAIN);
  if (place) where = [shorten(place[1]), place[2], place[3] === undefined ? null : place[3].length + 1].filter((part) => part !== null).join(":");
  process.stderr.write(shorten(stack.split("\n    at ")[0]) + "\n");
  return { type: "CompileError", message: `${where}: ${error.name}: ${error.message}`, stacktrace: place ? [where] : [] };
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

// load runs the code and returns what it exports.
async function load() {
  if (spec.entry && isModuleFile(MAIN)) {
    lookElsewhere();
    return await import(pathToFileURL(MAIN).href).catch(atLoad);
  }
  const source = fs.readFileSync(spec.entry ? MAIN : SNIPPET, "utf8").replace(/^\ufeff/, "").replace(/^#!.*/, "");
  const script = compile(() => vm.compileFunction(source, ["exports", "require", "module", "__filename", "__dirname"], { filename: MAIN }));
  if (!script.error) return runCommonJS(source);
  if (spec.entry && MAIN.endsWith(".cjs")) refuse(script.error);
  const module = compile(() => sourceModule(source));
  if (!module.error) return await runModule(module.value);
  if (!/^\s*(import|export)\b/m.test(source) || spec.entry) refuse(script.error);
  return await import(pathToFileURL(SNIPPET).href).catch(leave); // for an error that says where
}

// lookElsewhere has the modules of a project find what NODE_PATH has, where Node lets it.
function lookElsewhere() {
  const parents = (process.env.NODE_PATH ?? "").split(":").filter((dir) => dir.endsWith("/node_modules"))
    .map((dir) => pathToFileURL(path.join(dir, "../main.js")).href);
  if (parents.length === 0 || !Module.register) return;
  const hook = `export async function resolve(name, context, next) {
    try {
      return await next(name, context);
    } catch (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND" || /^(\\.{0,2}\\/|[a-z]+:)/i.test(name)) throw error;
      for (const parentURL of ${JSON.stringify(parents)}) {
        try {
          return await next(name, { ...context, parentURL });
        } catch {}
      }
      throw error;
    }
  }`;
  Module.register("data:text/javascript," + encodeURIComponent(hook));
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

// The syntax error of a file that is imported: one that code throws has frames of the
// user's.
function atLoad(error) {
  if (error instanceof SyntaxError && frames(error).length === 0) return leave(error);
  throw error;
}

// leave lets Node end with the error: it alone knows the place, and prints it. The
// runtime reads it from there.
function leave(error) {
  if (api) tell({ error: error instanceof SyntaxError ? compileError(error) : describe(error) }); // nobody reads what Node prints
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

function runCommonJS(source) {
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
  process.emitWarning = () => {}; // that this is experimental is no news to the user
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
  // As in CommonJS: snippets that await at the top level often require, too.
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

// The context that AWS Lambda documents for Node.
function newContext(fields, deadline) {
  const context = {
    callbackWaitsForEmptyEventLoop: true,
    ...fields,
    getRemainingTimeInMillis: () => Math.max(0, Math.trunc(deadline - performance.timeOrigin - performance.now())),
  };
  return context;
}

function findHandler(exported) {
  const name = spec.handler.slice(spec.handler.lastIndexOf(".") + 1);
  for (const object of [exported, exported?.default]) {
    if (typeof object?.[name] === "function") return object[name];
  }
  const names = Object.keys(exported ?? {}).filter((key) => typeof exported[key] === "function");
  const has = names.length === 0 ? "it exports no function" : "it exports " + names.slice(0, MAX_NAMES).join(", ");
  throw new Failure("HandlerNotFound", `${path.basename(MAIN)} exports no function named ${name}; ${has}`);
}

// A handler returns its result, or a promise of it, or calls back.
function callHandler(handler, event, context) {
  return new Promise((resolve, reject) => {
    const callback = (error, result) => (error === null || error === undefined ? resolve(result) : reject(error));
    context.done = callback;
    context.succeed = (result) => callback(null, result);
    context.fail = (error) => callback(error ?? new Error("the handler called fail"));
    const returned = handler(event, context, callback);
    if (typeof returned?.then === "function") returned.then(resolve, reject);
    else if (handler.length < 3) resolve(returned);
  });
}

function encode(result) {
  let text;
  try {
    text = JSON.stringify(result) ?? "null";
  } catch (error) {
    throw new Failure("ResultNotSerializable", `the result cannot be written as JSON: ${error.message.split("\n")[0]}`);
  }
  const size = Buffer.byteLength(text);
  if (size > spec.max_result) {
    throw new Failure("ResultTooLarge", `the result has ${size} bytes of JSON; at most ${spec.max_result} are allowed: write it to a file instead`);
  }
  return text;
}

const UNFINISHED = "the handler neither returned nor called back, and nothing is left that it could wait for";

// serve calls the handler for one invocation after the other, for ever.
async function serve(handler) {
  // What the plan could not know of an invocation is named after this process.
  const given = spec.context.awsRequestId === path.basename(HERE) ? null : spec.context.awsRequestId;
  for (;;) {
    const { header, body } = (await api.ask("GET", "invocation/next")) ?? process.exit(EXIT_FAILED);
    const id = header["lambda-runtime-aws-request-id"];
    const context = newContext({ ...spec.context, awsRequestId: given ?? id }, Number(header["lambda-runtime-deadline-ms"]));
    let text;
    pending = UNFINISHED;
    try {
      text = encode(await callHandler(handler, JSON.parse(body), context));
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
  if (spec.kind !== "handler") return;
  const handler = findHandler(exported);
  if (api) return await serve(handler);
  pending = UNFINISHED;
  const context = newContext(spec.context, performance.timeOrigin + spec.timeout_ms);
  const text = encode(await callHandler(handler, spec.event, context));
  pending = null;
  tellText(`{"result":${text}}`);
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
  tell({ error: { type: spec.kind === "handler" ? "HandlerNotFinished" : "UnsettledAwait", message: pending, stacktrace: [] } });
  process.exit(EXIT_UNSETTLED);
});
process.on("exit", (code) => {
  if (spec.kind === "handler" && !told && !left) {
    tell({ error: { type: "ProcessExit", message: `the handler exited with code ${code} instead of returning`, stacktrace: [] } });
  }
});
main().catch(fail);
