// Reloads modules from user files that have changed, so that the next cell of a notebook sees the
// present file.

import fs from "node:fs";
import Module, { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const { Map, Object, Set, WeakMap } = globalThis;

const MAX_KNOWN = 4096; // files; the oldest are forgotten

const imported = new Map(); // by URL: the file's stamp when it was imported, and how often it changed since
const required = new WeakMap(); // by module of CommonJS: the stamps of its file and of those that it requires

function isOthers(file) {
  return file.includes("/node_modules/");
}

export function stamp(file) {
  const { mtimeMs, size, ino } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${mtimeMs} ${size} ${ino}`;
}

// importer returns a function like importFrom that imports the present content of each file.
export function importer(importFrom) {
  return async (from, name, attributes) => {
    let [file, known] = [null, undefined];
    let namespace;
    try {
      namespace = await importFrom(from, name, attributes, (url) => {
        if (url.startsWith("file:")) file = fileURLToPath(url);
        const now = current(url);
        known = imported.get(url);
        return now;
      });
    } catch (error) {
      // Node keeps the failure, so the next import needs another URL. A missing module may exist then.
      if (known) known.stamp = null;
      throw error;
    }
    // Node caches imported JSON without the file's name, by which requireFrom notices changes.
    if (file !== null && !(Module._cache[file] instanceof Module)) delete Module._cache[file];
    return namespace;
  };
}

// current returns the URL that imports a file's present content. Node caches modules by URL, and
// another query makes another module.
function current(url) {
  if (!/^file:[^?#]*$/.test(url) || isOthers(url)) return url;
  const file = fileURLToPath(url);
  const now = stamp(file);
  forgetChanged(Module._cache, file, new Set());
  const known = imported.get(url) ?? { stamp: now, changes: 0 };
  if (known.stamp !== now) delete Module._cache[file];
  if (known.stamp !== now) Object.assign(known, { stamp: now, changes: known.changes + 1 });
  imported.delete(url);
  imported.set(url, known);
  if (imported.size > MAX_KNOWN) imported.delete(imported.keys().next().value);
  return known.changes === 0 ? url : `${url}?changed=${known.changes}`;
}

// requireFrom returns the function require of a file.
export function requireFrom(file) {
  const require = createRequire(file);
  const load = (name) => {
    const path = locate(require, name);
    if (path !== null) forgetChanged(require.cache, path, new Set());
    const exported = require(name);
    if (path !== null) note(require.cache, path, new Set());
    return exported;
  };
  for (const key of Object.keys(require)) load[key] = require[key];
  return Object.defineProperty(load, "name", { value: "require" });
}

// locate returns the user's file for a name, or null.
function locate(require, name) {
  try {
    const path = require.resolve(name);
    return path.startsWith("/") && !isOthers(path) ? path : null;
  } catch {
    return null; // require reports the error
  }
}

// forgetChanged removes from the cache the modules of files that have changed, and of files that load
// such a file. It reports whether it removed this file's.
function forgetChanged(cache, file, seen) {
  const module = cache[file];
  if (!module || seen.has(file)) return false;
  seen.add(file);
  let changed = [...(required.get(module) ?? [])].some(([name, old]) => stamp(name) !== old);
  for (const child of children(module)) changed = forgetChanged(cache, child, seen) || changed;
  if (changed) delete cache[file];
  return changed;
}

function note(cache, file, seen) {
  const module = cache[file];
  if (!module || seen.has(file)) return;
  seen.add(file);
  if (!required.has(module)) required.set(module, new Map([file, ...children(module)].map((name) => [name, stamp(name)])));
  for (const child of children(module)) note(cache, child, seen);
}

function children(module) {
  return (module.children ?? []).map(({ filename }) => filename).filter((file) => file && !isOthers(file));
}
