// The names at the top level of code: global variables, and those that depend on the working directory.

import path from "node:path";
import { pathToFileURL } from "node:url";
import { requireFrom } from "./reload.mjs";

// A copy of a name that user code may replace.
const { process } = globalThis;

const furnished = {};

// makeWritable lets code declare a name that is an accessor, such as crypto. It also defines a new name,
// so that guard can change it.
export function makeWritable(name) {
  const there = Object.getOwnPropertyDescriptor(globalThis, name);
  if (!there || (there.configurable && !("value" in there))) {
    Object.defineProperty(globalThis, name, { value: undefined, writable: true, enumerable: true, configurable: true });
  }
}

// guard makes assignments to the global variables fail.
export function guard(names) {
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

// main is the path of the code for imports: the code behaves as if it were in the working
// directory.
export function main() {
  return path.join(process.cwd(), "main.js");
}

// furnish sets the names of the top level, such as require, for the present working directory.
export function furnish() {
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
