// Ends the running execution from outside its code: by an interrupt, and where the code ends the process.

import { createRequire } from "node:module";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { Interrupted } from "./errors.mjs";

const { clearAsyncIdStack } = createRequire(import.meta.url)("internal/async_hooks");

// Copies of names that user code may replace.
const { Atomics, Reflect, process } = globalThis;
const { reallyExit } = process;

const HERE = process.argv[2];

// Indices in the memory shared with interrupter.cjs.
const NEVER = 2;
const EXITING = 3;

const shared = new Int32Array(new SharedArrayBuffer(16));

export const running = {
  fail: null, // ends the running execution with an error
  exit: null, // the code of an execution that exits
};

// Exited ends an execution that called process.exit.
export class Exited extends Error {
  constructor(code) {
    super();
    this.code = code;
  }
}

function interrupt() {
  Atomics.add(shared, 1, 1);
  Atomics.notify(shared, 1);
  clearAsyncIdStack(); // of the interrupted code
  running.fail?.(ended());
}

// ended returns the reason of an execution that was broken off.
export function ended() {
  if (running.exit === null) return new Interrupted();
  const exited = new Exited(running.exit);
  running.exit = null;
  Atomics.store(shared, EXITING, 0);
  return exited;
}

// exit ends the running execution at any point by the interrupt's signal, so that no catch of the code
// sees it.
function exit(code) {
  running.exit = code;
  process._exiting = false;
  Atomics.store(shared, EXITING, 1);
  process.kill(process.pid, "SIGINT");
  for (;;) Atomics.wait(shared, NEVER, 0, 1000);
}

// exitNow ends the interpreter.
export function exitNow(code) {
  Reflect.apply(reallyExit, process, [code]);
}

// ownExit makes an exit of the running code the end of its execution.
export function ownExit() {
  process.reallyExit = (code) => {
    const status = Number(code ?? 0) & 0xff;
    if (running.fail && running.exit === null) exit(status);
    exitNow(status);
  };
}

// ownSignals keeps SIGINT the kernel's, despite the code's listeners.
export function ownSignals() {
  for (const event of ["newListener", "removeListener"]) {
    for (const listener of process.rawListeners(event)) {
      process.removeListener(event, listener);
      process.on(event, (name, ...rest) => name === "SIGINT" || listener.call(process, name, ...rest));
    }
  }
}

// watchForInterrupts has a thread of its own tell of SIGINT, also while code runs.
export function watchForInterrupts(guarded) {
  const worker = new Worker(path.join(HERE, "interrupter.cjs"), { workerData: shared, env: {}, execArgv: [] });
  worker.on("message", guarded(interrupt));
  worker.unref();
  Atomics.wait(shared, 0, 0);
}
