// The standard input of executions: descriptor 0 and process.stdin.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

// Copies of names that user code may replace.
const { Promise, process, setTimeout } = globalThis;

const MAX_CLOSING = 1000; // ms

export const stdin = { empty: false, stream: null, closing: null };

// input opens the stdin of the request as descriptor 0 and process.stdin. The system opens
// the lowest free descriptor.
export function input(data) {
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

// ownStdin makes process.stdin the stream of the running execution.
export function ownStdin() {
  Object.defineProperty(process, "stdin", {
    configurable: true,
    enumerable: true,
    get: () => (stdin.stream ??= fs.createReadStream("", { fd: 0, autoClose: false })),
  });
}
