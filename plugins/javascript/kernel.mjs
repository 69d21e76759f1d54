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
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import util from "node:util";
import vm from "node:vm";
import { Worker } from "node:worker_threads";
import { rewrite } from "./cell.mjs";
import { parse as parseCode } from "./syntax.mjs";
import { complete, inspect } from "./complete.mjs";
import { bundleOf, newDisplay } from "./display.mjs";
import { original, remember, traceStacks } from "./places.mjs";
import { importer, requireFrom } from "./reload.mjs";

const { clearAsyncIdStack } = createRequire(import.meta.url)("internal/async_hooks");
const { decorateErrorStack } = createRequire(import.meta.url)("internal/util");

// Copies of names that user code may replace, as test libraries do.
const { Atomics, Buffer, JSON, Map, Promise, Reflect, process, setImmediate, setTimeout } = globalThis;
const { parse, stringify } = JSON;
const { open, readFileSync, writeSync } = fs;
const { Socket } = net;
const { emit, on } = Socket.prototype;
const reallyExit = process.reallyExit;

const HERE = process.argv[2];
const importCurrent = importer(importFrom);
const typescript = process.argv[3] ? new (await import("./typescript.mjs")).TypeScript(process.argv[3], importCurrent) : null;
const REQUESTS = path.join(HERE, "requests");
const WORKSPACE = process.cwd();
const META = "globalThis[Symbol.for('yurt.meta')]";
const CONTROL = 3;

const MAX_MESSAGE = 16000; // characters
const MAX_FRAMES = 200;
const MAX_CLOSING = 1000; // ms
const MAX_DISPLAY_ID = 100; // characters

const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;

// Indices in the memory shared with interrupter.cjs.
const NEVER = 2;
const EXITING = 3;

const nothing = Symbol("no value");

class Interrupted extends Error {}

// Exited ends an execution that called process.exit.
class Exited extends Error {
  constructor(code) {
    super();
    this.code = code;
  }
}

const kernel = {
  current: null, // id of the last request
  answer: null, // the last done, with its mark
  fail: null, // ends the running execution with an error
  count: 0,
  waiting: [], // lines with requests
  exit: null, // the code of an execution that exits
  constants: new Set(), // names of constant global variables
  busy: false,
  shared: new Int32Array(new SharedArrayBuffer(16)),
};

// --- messages to the host ------------------------------------------------------------

function write(fd, text) {
  let data = Buffer.from(text);
  while (data.length > 0) {
    try {
      data = data.subarray(writeSync(fd, data));
    } catch (error) {
      if (error.code === "EAGAIN") continue;
      if (fd === CONTROL) throw error;
      return; // the code has closed its standard output or error
    }
  }
}

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
    Reflect.apply(reallyExit, process, [EXIT_FAILED]); // the host reports an exit without a "done", too
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
  kernel.fail = null;
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

// input opens the stdin of the request as descriptor 0 and process.stdin. The system opens
// the lowest free descriptor.
function input(data) {
  if (stdin.empty && data.length === 0) return;
  let file = "/dev/null";
  if (data.length > 0) {
    file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "yurt-stdin-")), "stdin");
    fs.writeFileSync(file, data);
  }
  try {
    fs.closeSync(0);
  } catch {
    // The code has closed it.
  }
  fs.openSync(file);
  if (data.length > 0) fs.rmSync(path.dirname(file), { recursive: true });
  stdin.empty = data.length === 0;
  if (stdin.stream && !stdin.stream.closed) stdin.closing = closing(stdin.stream);
  stdin.stream = null;
}

// closing ends an earlier process.stdin and waits for it: it may still read from the descriptor, which the
// next execution uses.
function closing(stream) {
  return new Promise((resolve) => {
    stream.once("close", resolve);
    setTimeout(resolve, MAX_CLOSING).unref();
    stream.destroy();
  });
}

const stdin = { empty: false, stream: null, closing: null };

// --- running a cell -----------------------------------------------------------------

// run resolves to the value of the code's last expression, and the envelope of its handler's
// result, or null if no handler was called. It also fails with an uncaught error of that time.
function run(source, handler) {
  return new Promise((resolve, reject) => {
    kernel.fail = reject;
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
  const ours = kernel.fail;
  const { code, before, names, valued, defined, constants, assigned } = await compile(source, filename, handler?.name);
  if (kernel.fail !== ours) throw new Interrupted(); // interrupted while esbuild read the code
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

// Refused says why and where code does not compile: line and column from 1.
class Refused extends Error {
  constructor(message, filename, source, line, column) {
    super(`${filename}:${line}:${column}: ${message}`);
    this.place = `${filename}:${line}:${column}`;
    this.shown = `${this.place}\n${source.split("\n")[line - 1]}\n${" ".repeat(column - 1)}^\n\nSyntaxError: ${message}\n`;
  }
}

// compile returns the script of a cell in the form of rewrite.
async function compile(source, filename, handler) {
  let [code, find, made] = [asExpression(source), null, null];
  if (typescript) {
    const erased = await typescript.erase(code, filename, Refused);
    ({ code, find, made } = erased);
  }
  try {
    const cell = rewrite(code, META, handler, made);
    const before = original(code, cell.edits);
    const lines = code.split(/\r\n|[\n\r\u2028\u2029]/).length;
    remember(filename, find ? (line, column) => find(...before(line, column)) : before, lines + 1);
    return cell;
  } catch (error) {
    if (!(error instanceof SyntaxError) || !error.loc) throw error;
    return compileAsItIs(code, filename, error, find);
  }
}

// asExpression makes a cell that is only an object, { a: 1 }, an expression and not a block.
function asExpression(source) {
  if (!/^\s*\{/.test(source) || !/\}\s*$/.test(source)) return source;
  try {
    parseCode(`(${source})`);
    return `(${source})`;
  } catch {
    return source;
  }
}

// compileAsItIs compiles syntax that V8 knows and the parser does not.
function compileAsItIs(source, filename, error, find) {
  try {
    new vm.Script(source, { filename });
    if (find) remember(filename, find);
    return { code: source, before: "", names: new Set(), valued: true, defined: false, constants: [], assigned: [] };
  } catch {
    const [line, column] = [error.loc.line, error.loc.column + 1];
    throw new Refused(reason(source, error), filename, source, ...(find ? find(line, column) : [line, column]));
  }
}

// reason is V8's message about wrong code, which says more than the parser's.
function reason(source, error) {
  if (source.trimEnd().length <= error.pos) return "Unexpected end of input";
  if (!/^\s*(import|export)\b/m.test(source)) {
    try {
      new vm.Script(`(async () => {${source}\n})`);
    } catch ({ message }) {
      return message;
    }
  }
  return error.message.replace(/ \(\d+:\d+\)$/, "");
}

// makeWritable lets code declare a name that is an accessor, such as crypto. It also defines a new name,
// so that guard can change it.
function makeWritable(name) {
  const there = Object.getOwnPropertyDescriptor(globalThis, name);
  if (!there || (there.configurable && !("value" in there))) {
    Object.defineProperty(globalThis, name, { value: undefined, writable: true, enumerable: true, configurable: true });
  }
}

// guard makes assignments to the global variables fail.
function guard(names) {
  for (const name of names) {
    const there = Object.getOwnPropertyDescriptor(globalThis, name);
    if (!there?.configurable || !("value" in there)) continue;
    const { value } = there;
    Object.defineProperty(globalThis, name, { get: () => value, set: refuseAssignment, enumerable: true, configurable: true });
  }
}

function refuseAssignment() {
  throw new TypeError("Assignment to constant variable.");
}

// importCell imports the module that a cell names, from the working directory.
function importCell(name, attributes) {
  return typescript ? typescript.import(main(), name, attributes) : importCurrent(main(), name, attributes);
}

// main is the path of the code for imports: the code behaves as if it were in the working
// directory.
function main() {
  return path.join(process.cwd(), "main.js");
}

// furnish sets the names of the top level, such as require, for the present working directory.
function furnish() {
  const file = main();
  if (globalThis[Symbol.for("yurt.meta")]?.filename === file) return;
  globalThis[Symbol.for("yurt.meta")] = { url: pathToFileURL(file).href, filename: file, dirname: path.dirname(file) };
  const module = { exports: {}, id: ".", filename: file, loaded: false, children: [], paths: [] };
  const own = { require: requireFrom(file), module, exports: module.exports, __filename: file, __dirname: path.dirname(file) };
  own.require.main = module;
  for (const [name, value] of Object.entries(own)) {
    const there = Object.getOwnPropertyDescriptor(globalThis, name);
    if (there && there.value !== furnished[name]) continue; // the code has replaced it
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
    furnished[name] = value;
  }
}

const furnished = {};

// --- outcomes -----------------------------------------------------------------------

// show sends a display of the code, which may be a promise.
function show(bundle, how) {
  if (util.types.isPromise(bundle)) return bundle.then((bundle) => show(bundle, how));
  if (how.display_id?.length > MAX_DISPLAY_ID || /\p{Cc}/u.test(how.display_id ?? "")) {
    throw new TypeError(`a display_id has at most ${MAX_DISPLAY_ID} characters, and no control characters`);
  }
  if (kernel.fail) write(CONTROL, stringify({ id: kernel.current, display: { data: bundle, ...how } }) + "\n");
}

// jsonIn returns the JSON of the list or object in an envelope, or null.
function jsonIn(value, envelope) {
  return typeof value === "object" && value !== null && envelope.startsWith('{"result":') && !envelope.startsWith('{"result":null') ? envelope.slice(10, -1) : null;
}

function complain(error) {
  explain(error, "the value is shown as Node prints it, since its own representation failed: ");
}

// explain shows an error of any kind and returns its envelope.
function explain(error, before = "Uncaught ") {
  if (error instanceof Interrupted) return report("Interrupted\n", "KeyboardInterrupt", "", []);
  if (error instanceof Failure) return report(`${error.type}: ${error.message}\n`, error.type, error.message, []);
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

function report(shown, type, message, stacktrace) {
  write(2, shown);
  if (message.length > MAX_MESSAGE) message = message.slice(0, MAX_MESSAGE) + `… (${message.length} characters in all)`;
  return { type, message, stacktrace };
}

function isOwn(line) {
  if (line.includes("node_modules") || line.includes("node:") || line.includes(HERE + "/")) return false;
  return line.includes("<cell ") || line.includes(WORKSPACE + "/") || line.includes(process.cwd() + "/");
}

function shorten(text) {
  return text.replaceAll("file://", "").replaceAll(WORKSPACE + "/", "").replaceAll(HERE + "/", "");
}

// --- events that can come at any time -----------------------------------------------

function interrupt() {
  Atomics.add(kernel.shared, 1, 1);
  Atomics.notify(kernel.shared, 1);
  clearAsyncIdStack(); // of the interrupted code
  kernel.fail?.(ended());
}

// ended returns the reason of an execution that was broken off.
function ended() {
  if (kernel.exit === null) return new Interrupted();
  const exited = new Exited(kernel.exit);
  kernel.exit = null;
  Atomics.store(kernel.shared, EXITING, 0);
  return exited;
}

// exit ends the running execution at any point by the interrupt's signal, so that no catch of the code
// sees it.
function exit(code) {
  kernel.exit = code;
  process._exiting = false;
  Atomics.store(kernel.shared, EXITING, 1);
  process.kill(process.pid, "SIGINT");
  for (;;) Atomics.wait(kernel.shared, NEVER, 0, 1000);
}

// uncaught gets each uncaught error, which belongs to the running execution.
function uncaught(error) {
  if (kernel.fail) kernel.fail(error);
  else explain(error);
}

// ownSignals keeps SIGINT the kernel's, despite the code's listeners.
function ownSignals() {
  for (const event of ["newListener", "removeListener"]) {
    for (const listener of process.rawListeners(event)) {
      process.removeListener(event, listener);
      process.on(event, (name, ...rest) => name === "SIGINT" || listener.call(process, name, ...rest));
    }
  }
}

function watchForInterrupts() {
  const worker = new Worker(path.join(HERE, "interrupter.cjs"), { workerData: kernel.shared, env: {}, execArgv: [] });
  worker.on("message", guarded(interrupt));
  worker.unref();
  Atomics.wait(kernel.shared, 0, 0);
}

// writeAtOnce makes output blocking. Node's pipes do not block: if one is full, output waits in memory,
// which code that prints without a pause can exhaust, and writeSync and processes that inherit the
// pipe fail.
function writeAtOnce() {
  for (const stream of streams) stream._handle?.setBlocking?.(true);
}

// mendStreams repairs streams that an interrupt ended in the middle of a write.
function mendStreams() {
  for (const stream of streams) {
    const state = stream._writableState;
    if (!state?.writing) continue;
    state.writing = state.bufferProcessing = false;
    state.length -= state.writelen;
    state.writelen = 0;
    stream.cork();
    stream.uncork(); // writes the waiting output
  }
}

const streams = [process.stdout, process.stderr];
process.reallyExit = (code) => {
  const status = Number(code ?? 0) & 0xff;
  if (kernel.fail && kernel.exit === null) exit(status);
  Reflect.apply(reallyExit, process, [status]);
};
Object.defineProperty(process, "stdin", {
  configurable: true,
  enumerable: true,
  get: () => (stdin.stream ??= fs.createReadStream("", { fd: 0, autoClose: false })),
});
process.argv = [process.argv[0], ""];
process.execArgv = [];
traceStacks(HERE);
Object.defineProperty(globalThis, Symbol.for("yurt.constant"), { value: guard });
Object.defineProperty(globalThis, "display", {
  value: newDisplay(show, (value) => jsonIn(value, valueEnvelope(value)), complain), writable: true, configurable: true, enumerable: false,
});
ownSignals();
watchForInterrupts();
writeAtOnce();
process.on("uncaughtException", uncaught);
process.on("unhandledRejection", (error) => {
  if (process.listenerCount("unhandledRejection") === 1) uncaught(error);
});
listen();
