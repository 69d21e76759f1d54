// Runs executions one after the other in one interpreter, which keeps its state.
//
//     node FLAGS kernel.mjs DIRECTORY [ESBUILD]
//
// With the path of esbuild, the code is TypeScript.
//
// It reads requests from the FIFO "requests" in the directory, a JSON object a line, and
// writes messages to descriptor 3 in the same format: "display" and "done". With each
// "done" it writes a mark to descriptors 1 and 2: output before the mark belongs to that
// execution. SIGINT interrupts the running execution.
//
// The user's code shares this interpreter and can break all of it. An exception in the kernel's
// own code ends the interpreter at once, and the host gets its cause. Needs Node 18 or later, with
// --expose-internals, --experimental-vm-modules, --experimental-import-meta-resolve and
// --no-force-async-hooks-checks.

import fs from "node:fs";
import Module, { createRequire, isBuiltin } from "node:module";
import net from "node:net";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import util from "node:util";
import vm from "node:vm";
import { compile } from "./compile.mjs";
import { complete, inspect } from "./complete.mjs";
import { bundleOf, newDisplay } from "./display.mjs";
import { Interrupted, explain as explainError, report, shorten } from "./errors.mjs";
import { Exited, ended, exitNow, ownExit, ownSignals, running, watchForInterrupts } from "./interrupts.mjs";
import { furnish, guard, main, makeWritable } from "./names.mjs";
import { CONTROL, mendStreams, write, writeAtOnce } from "./output.mjs";
import { traceStacks } from "./places.mjs";
import { importer } from "./reload.mjs";
import { input, ownStdin, stdin } from "./stdin.mjs";

// Copies of names that user code may replace, as test libraries do.
const { Buffer, JSON, Map, Promise, process, setImmediate } = globalThis;
const { parse, stringify } = JSON;
const { open, readFileSync } = fs;
const { Socket } = net;
const { emit, on } = Socket.prototype;

const HERE = process.argv[2];
const importCurrent = importer(importFrom);
const typescript = process.argv[3] ? new (await import("./typescript.mjs")).TypeScript(process.argv[3], importCurrent) : null;
const REQUESTS = path.join(HERE, "requests");

const MAX_MESSAGE = 16000; // characters
const MAX_DISPLAY_ID = 100; // characters

const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;

const nothing = Symbol("no value");

const kernel = {
  current: null, // id of the last request
  answer: null, // the last done, with its mark
  count: 0,
  waiting: [], // lines with requests
  constants: new Set(), // names of constant global variables
  busy: false,
};

// --- messages to the host ------------------------------------------------------------

function reply({ message, mark }) {
  write(1, mark);
  write(2, mark);
  write(CONTROL, message);
}

// finish sends the "done" of an execution; its envelope is JSON already.
function finish(code, envelope, exiting) {
  const message = `{"id":${stringify(kernel.current)},"done":{"exit_code":${code},"execution_count":${kernel.count},"exiting":${exiting},"envelope":${envelope}}}\n`;
  kernel.answer = { message, mark: markOf(kernel.current) };
  reply(kernel.answer);
}

function markOf(id) {
  return `\x1eyurt:${id}\x1e`;
}

// broken ends the interpreter, as the kernel's own code failed and can serve no more requests.
function broken(error) {
  try {
    let cause = "an error that cannot be read";
    try {
      cause = shorten(String(error)).slice(0, MAX_MESSAGE);
    } catch {
      // User code has thrown a value that has no text.
    }
    if (!kernel.busy || kernel.answer) return write(2, `yurt: the code before this broke the interpreter of its context: ${cause}\n`);
    const message = `{"id":"${kernel.current}","done":{"exit_code":${EXIT_FAILED},"execution_count":${kernel.count},"exiting":true,"broken":${stringify(cause)}}}\n`;
    reply({ message, mark: markOf(kernel.current) });
  } finally {
    exitNow(EXIT_FAILED); // the host reports an exit without a "done", too
  }
}

// guarded returns a function whose failure counts as one of the kernel's own code.
function guarded(work) {
  return (argument) => {
    try {
      work(argument);
    } catch (error) {
      broken(error);
    }
  };
}

// --- requests -----------------------------------------------------------------------

// listen reads requests for ever. The FIFO ends when the host has gone; opening it again
// waits for the host.
function listen() {
  open(REQUESTS, fs.constants.O_RDONLY, (error, fd) => {
    if (error) return broken(error);
    guarded(take)(new Socket({ fd, readable: true, writable: false }));
  });
}

function take(socket) {
  let held = "";
  socket.emit = emit;
  socket.on = on;
  socket.setEncoding("utf8");
  const receive = guarded((data) => {
    const lines = (held + data).split("\n");
    held = lines.pop();
    kernel.waiting.push(...lines);
    next();
  });
  socket.on("data", receive);
  socket.on("error", () => socket.destroy());
  socket.on("close", guarded(listen));
}

// next begins the next request. No promise leads from one request to the next: an interrupt
// that ends the code also drops the promise callbacks of that moment.
function next() {
  if (kernel.busy || kernel.waiting.length === 0) return;
  kernel.busy = true;
  handle(kernel.waiting.shift());
}

function done() {
  kernel.busy = false;
  setImmediate(guarded(next));
}

async function handle(line) {
  try {
    await answer(parse(line));
  } catch (error) {
    broken(error);
  }
}

async function answer(request) {
  if (request.file) request = parse(readFileSync(request.file, "utf8"));
  if (request.ask) return consider(request);
  if (request.id === kernel.current) {
    if (kernel.answer) reply(kernel.answer); // the host has restarted and lost it
    return done();
  }
  kernel.current = request.id;
  kernel.answer = null;
  await stdin.closing;
  const restore = prepare(request);
  let code = 0;
  let envelope = '{"result":null}';
  try {
    const { value, called } = await run(request.code, request.handler);
    if (called !== null) {
      envelope = called;
    } else if (value !== nothing && value !== undefined) {
      envelope = valueEnvelope(value);
      await show(bundleOf(value, jsonIn(value, envelope), complain), { main: true, update: false });
    }
    code = Number(process.exitCode ?? 0) & 0xff;
  } catch (error) {
    mendStreams();
    if (error instanceof Exited) {
      code = error.code;
    } else {
      code = error instanceof Interrupted ? EXIT_INTERRUPTED : EXIT_FAILED;
      envelope = stringify({ error: explain(error) });
    }
  }
  running.fail = null;
  process.exitCode = undefined;
  restore();
  finish(code, envelope, false);
  done();
}

// consider answers a question about code without running it and without writing marks.
function consider({ id, ask, code, cursor }) {
  const said = stringify((ask === "inspect" ? inspect : complete)(code, cursor));
  write(CONTROL, `{"id":${stringify(id)},"done":{"exit_code":0,"exiting":false,"envelope":{"result":${said}}}}\n`);
  done();
}

// prepare sets up an execution's streams and files, and returns a function that undoes it.
function prepare(request) {
  kernel.count++;
  input(Buffer.from(request.stdin ?? "", "base64"));
  if (request.cwd) {
    try {
      process.chdir(request.cwd);
    } catch (error) {
      write(2, `yurt: the working directory stays ${process.cwd()}: ${error.message}\n`);
    }
  }
  furnish();
  const before = new Map();
  for (const item of request.env ?? []) {
    const [name, value] = [item.slice(0, item.indexOf("=")), item.slice(item.indexOf("=") + 1)];
    before.set(name, process.env[name]);
    process.env[name] = value;
    if (name === "NODE_PATH") Module._initPaths();
  }
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    input(Buffer.alloc(0));
  };
}

// --- running a cell -----------------------------------------------------------------

// run resolves to the value of the code's last expression, and the envelope of its handler's
// result, or null if no handler was called. It also fails with an uncaught error of that time.
function run(source, handler) {
  return new Promise((resolve, reject) => {
    running.fail = reject;
    settle(source, handler, resolve, reject);
  });
}

async function settle(source, handler, resolve, reject) {
  try {
    const value = await evaluate(source, `<cell ${kernel.count}>`, handler);
    await settled();
    resolve(value);
  } catch (error) {
    await settled();
    reject(error);
  }
}

// settled waits until Node has reported unhandled rejections.
function settled() {
  return new Promise((resolve) => setImmediate(setImmediate, resolve));
}

async function evaluate(source, filename, handler) {
  const ours = running.fail;
  const { code, before, names, valued, defined, constants, assigned } = await compile(source, filename, handler?.name, typescript);
  if (running.fail !== ours) throw new Interrupted(); // interrupted while esbuild read the code
  for (const name of names) makeWritable(name);
  guard([...assigned].filter((name) => kernel.constants.has(name) && !names.has(name)));
  for (const name of names) kernel.constants.delete(name);
  for (const name of constants) kernel.constants.add(name);
  if (defined) forgetExports(handler.name);
  const script = new vm.Script(code, {
    filename,
    columnOffset: -before.length,
    importModuleDynamically: (name, _, attributes) => importCell(name, attributes),
  });
  const value = await runScript(script);
  const called = defined ? await callDefined(handler) : null;
  return { value: valued ? value : nothing, called };
}

function runScript(script) {
  try {
    return script.runInThisContext({ breakOnSigint: true, displayErrors: false });
  } catch (error) {
    if (error?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED") throw ended();
    throw error;
  }
}

// forgetExports removes the handler of an earlier cell, so that it does not count as this cell's.
function forgetExports(name) {
  for (const exported of [globalThis.exports, globalThis.module?.exports]) {
    if (exported !== null && typeof exported === "object") delete exported[name];
  }
}

// callDefined calls the handler that a cell has defined and returns the envelope of its result, or
// null if there is no such function. It runs as a script, so that it can be interrupted.
async function callDefined({ name, timeout, memory_mb }) {
  const handler = findFunction(globalThis.module?.exports, name, findFunction(globalThis.exports, name, globalThis[name]));
  if (handler === null) return null;
  const fields = {
    functionName: name,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
    memoryLimitInMB: String(memory_mb),
    awsRequestId: kernel.current,
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: `[$LATEST]${kernel.current}`,
  };
  const context = newContext(fields, Date.now() + timeout * 1000);
  globalThis[DECLARED] = () => callHandler(handler, {}, context);
  const result = runScript(new vm.Script("globalThis[Symbol.for('yurt.handler')]()", { filename: CALL }));
  delete globalThis[DECLARED];
  return `{"handler":${stringify(name)},"result":${encodeResult(await result, MAX_VALUE)}}`;
}

const CALL = "node:yurt"; // stack traces omit it

// importCell imports the module that a cell names, from the working directory.
function importCell(name, attributes) {
  return typescript ? typescript.import(main(), name, attributes) : importCurrent(main(), name, attributes);
}

// --- outcomes -----------------------------------------------------------------------

// show sends a display of the code, which may be a promise.
function show(bundle, how) {
  if (util.types.isPromise(bundle)) return bundle.then((bundle) => show(bundle, how));
  if (how.display_id?.length > MAX_DISPLAY_ID || /\p{Cc}/u.test(how.display_id ?? "")) {
    throw new TypeError(`a display_id has at most ${MAX_DISPLAY_ID} characters, and no control characters`);
  }
  if (running.fail) write(CONTROL, stringify({ id: kernel.current, display: { data: bundle, ...how } }) + "\n");
}

// jsonIn returns the JSON of the list or object in an envelope, or null.
function jsonIn(value, envelope) {
  return typeof value === "object" && value !== null && envelope.startsWith('{"result":') && !envelope.startsWith('{"result":null') ? envelope.slice(10, -1) : null;
}

// explain shows an error of any kind and returns its envelope.
function explain(error, before) {
  if (error instanceof Failure) return report(`${error.type}: ${error.message}\n`, error.type, error.message, []);
  return explainError(error, before);
}

function complain(error) {
  explain(error, "the value is shown as Node prints it, since its own representation failed: ");
}

// uncaught gets each uncaught error, which belongs to the running execution.
function uncaught(error) {
  if (running.fail) running.fail(error);
  else explain(error);
}

process.argv = [process.argv[0], ""];
process.execArgv = [];
traceStacks(HERE);
Object.defineProperty(globalThis, Symbol.for("yurt.constant"), { value: guard });
Object.defineProperty(globalThis, "display", {
  value: newDisplay(show, (value) => jsonIn(value, valueEnvelope(value)), complain), writable: true, configurable: true, enumerable: false,
});
ownStdin();
ownExit();
ownSignals();
watchForInterrupts(guarded);
writeAtOnce();
process.on("uncaughtException", uncaught);
process.on("unhandledRejection", (error) => {
  if (process.listenerCount("unhandledRejection") === 1) uncaught(error);
});
listen();
