// Writes to the host and to standard output and error, at once.

import fs from "node:fs";

// Copies of names that user code may replace.
const { Buffer, process } = globalThis;
const { writeSync } = fs;

export const CONTROL = 3; // the descriptor for messages to the host

const streams = [process.stdout, process.stderr];

export function write(fd, text) {
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

// writeAtOnce makes output blocking. Node's pipes do not block: if one is full, output waits in memory,
// which code that prints without a pause can exhaust, and writeSync and processes that inherit the
// pipe fail.
export function writeAtOnce() {
  for (const stream of streams) stream._handle?.setBlocking?.(true);
}

// mendStreams repairs streams that an interrupt ended in the middle of a write.
export function mendStreams() {
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
