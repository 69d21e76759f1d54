// Waits in its own thread for SIGINT and interrupts the main thread: by a message if that
// waits for events, else by terminating the running code.
//
// The kernel ignores interrupts between executions.

"use strict";

const inspector = require("node:inspector");
const vm = require("node:vm");
const { parentPort, workerData: shared } = require("node:worker_threads");

const ARMED = 0; // in shared memory: becomes 1
const HEARD = 1; // counts the messages that the main thread has read
const NEVER = 2;
const EXITING = 3; // the main thread itself asks for it, and reads no message
const PATIENCE = 50; // ms
const TRIES = 3;

let session = null;

function tell() {
  const heard = Atomics.load(shared, HEARD);
  parentPort.postMessage("interrupt");
  for (let i = 0; i < TRIES; i++) {
    const patience = Atomics.load(shared, EXITING) === 1 && i === 0 ? 0 : PATIENCE * 20 ** i;
    if (Atomics.wait(shared, HEARD, heard, patience) !== "timed-out") break;
    if (session === null) {
      session = new inspector.Session();
      session.connectToMainThread();
    }
    session.post("Runtime.terminateExecution");
  }
}

// Node lets SIGINT break off a script in any thread. Two nested scripts leave no gap: the
// outer one catches a SIGINT while the inner one starts again.
const inner = new vm.Script("yurtWait()");
const outer = new vm.Script("yurtLoop()");

globalThis.yurtWait = () => {
  Atomics.store(shared, ARMED, 1);
  Atomics.notify(shared, ARMED);
  for (;;) Atomics.wait(shared, NEVER, 0);
};

globalThis.yurtLoop = () => {
  for (;;) until(inner);
};

function until(script) {
  try {
    script.runInThisContext({ breakOnSigint: true });
  } catch {
    tell();
  }
}

for (;;) until(outer);
