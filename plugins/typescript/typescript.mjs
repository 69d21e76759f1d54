// TypeScript in a kernel: it erases the types of cells and of imported TypeScript files. A file is
// loaded again after a change of it or of a TypeScript file that it imports.

import fs from "node:fs";
import Module, { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import vm from "node:vm";
import { Service } from "./erase.mjs";
import { places } from "./maps.mjs";
import { remember } from "./places.mjs";
import { stamp } from "./reload.mjs";

const EXTENSIONS = [".ts", ".tsx", ".mts", ".cts"];
const INSTEAD = { ".js": [".ts", ".tsx"], ".mjs": [".mts"], ".cjs": [".cts"], ".jsx": [".tsx"] }; // names of TypeScript sources
const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$]*/gu;

export class TypeScript {
  constructor(esbuild, importFrom) {
    this.service = new Service(esbuild);
    this.importFrom = importFrom;
    this.loaded = new Map(); // by file
    this.service.start().catch(() => {}); // the first cell reports it
    for (const extension of EXTENSIONS) Module._extensions[extension] = (module, file) => this.require(module, file);
    resolveInstead();
  }

  // erase returns the JavaScript of a cell, a function that maps its places to the TypeScript, and
  // one that recognises top-level names that esbuild made.
  async erase(source, filename, Refused) {
    const { code, map } = await this.take(source, filename, Refused, { cell: true });
    const words = new Set(source.match(WORD));
    return { code, find: places(map), made: (name) => name.startsWith("_") && !words.has(name) };
  }

  async take(source, filename, Refused, how) {
    const { refused, code, map } = await this.service.erase(source, how);
    if (!refused) return { code, map };
    const text = source.split(/\r\n|\n/)[refused.line - 1] ?? "";
    const column = Buffer.from(text).subarray(0, refused.column).toString().length + 1;
    throw new Refused(refused.text, filename, source, refused.line, column);
  }

  // import imports a module, which may be TypeScript, for a file.
  async import(from, name, attributes) {
    const file = find(path.dirname(from), name);
    if (file === null) return this.importFrom(from, plain(from, name), attributes);
    const entry = await this.load(file, new Map());
    if (entry.module.status === "unlinked") await entry.module.link((name, parent, extra) => this.link(entry, name, parent, extra));
    await entry.module.evaluate();
    return entry.module.namespace;
  }

  // load returns the entry of a file. Files that are still loading are in another map, so that files
  // may import each other.
  async load(file, loading) {
    const known = loading.get(file) ?? this.loaded.get(file);
    if (known && (loading.has(file) || !hasChanged(known, new Set()))) return known;
    const entry = { file, stamp: stamp(file), imports: [], loading, module: null };
    loading.set(file, entry);
    const loader = file.endsWith("x") ? "tsx" : "ts";
    const { code, map } = await this.take(fs.readFileSync(file, "utf8"), file, RefusedFile, { cell: false, loader });
    const url = pathToFileURL(file).href;
    remember(url, places(map));
    entry.module = new vm.SourceTextModule(code, {
      identifier: url,
      initializeImportMeta: (meta) => Object.assign(meta, { url, filename: file, dirname: path.dirname(file) }),
      importModuleDynamically: (name, _, attributes) => this.import(file, name, attributes),
    });
    this.loaded.set(file, entry);
    return entry;
  }

  async link(entry, name, parent, extra) {
    const from = fileURLToPath(parent.identifier);
    const file = find(path.dirname(from), name);
    if (file !== null) {
      const imported = await this.load(file, entry.loading);
      this.loaded.get(from)?.imports.push(imported);
      return imported.module;
    }
    const namespace = await this.importFrom(from, plain(from, name), extra?.attributes ?? extra?.assert);
    const names = Object.keys(namespace);
    return new vm.SyntheticModule(names, function () {
      for (const key of names) this.setExport(key, namespace[key]);
    });
  }

  // require compiles a file to CommonJS, for code that cannot wait.
  require(module, file) {
    const { code, map } = this.service.eraseNow(fs.readFileSync(file, "utf8"), file.endsWith("x") ? "tsx" : "ts");
    remember(file, places(map));
    module._compile(code, file);
  }
}

class RefusedFile extends SyntaxError {
  constructor(message, filename, source, line, column) {
    super(message);
    this.stack = `${filename}:${line}\n${source.split("\n")[line - 1]}\n${" ".repeat(column - 1)}^\n\nSyntaxError: ${message}\n    at ${filename}:${line}:${column}`;
  }
}

function hasChanged(entry, seen) {
  if (seen.has(entry)) return false;
  seen.add(entry);
  return entry.module?.status === "errored" || stamp(entry.file) !== entry.stamp || entry.imports.some((imported) => hasChanged(imported, seen));
}

// find returns the TypeScript file for an import in a directory, or null.
function find(directory, name) {
  if (!/^(\.{0,2}\/|file:)/.test(name)) return null;
  const file = name.startsWith("file:") ? fileURLToPath(name) : path.resolve(directory, name);
  if (isFile(file)) return EXTENSIONS.includes(path.extname(file)) ? file : null;
  const instead = (INSTEAD[path.extname(file)] ?? []).map((extension) => file.slice(0, -path.extname(file).length) + extension);
  const others = [...instead, ...EXTENSIONS.map((extension) => file + extension), ...EXTENSIONS.map((extension) => path.join(file, "index" + extension))];
  return others.find(isFile) ?? null;
}

// resolveInstead makes require find lib.ts under the name lib.js, too.
function resolveInstead() {
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (name, parent, ...rest) {
    try {
      return Reflect.apply(resolve, this, [name, parent, ...rest]);
    } catch (error) {
      const file = parent?.filename && find(path.dirname(parent.filename), name);
      if (!file) throw error;
      return file;
    }
  };
}

// plain returns the name of a file that is not TypeScript; its extension may be missing.
function plain(from, name) {
  if (!/^\.{0,2}\//.test(name)) return name;
  try {
    return createRequire(from).resolve(name);
  } catch {
    return name;
  }
}

function isFile(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
