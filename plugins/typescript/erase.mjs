// Erases the types of TypeScript, with esbuild as a service: one process, started with the kernel,
// serves all requests. A process for each cell would take milliseconds.
//
// The service has the protocol of esbuild's own package for Node: packets that begin with their
// length, see encode. It is the same from esbuild 0.17 on. Needs Node 18 or later.

import { execFile, execFileSync, spawn } from "node:child_process";
import net from "node:net";

const { Buffer, Map, Promise } = globalThis;
const { emit, on } = net.Socket.prototype;

const MAX_PACKET = 64 << 20; // bytes of an answer
const TRIES = 2; // the code may have killed the service

const MAJOR = process.versions.node.split(".")[0];

// Flags of esbuild. Imports stay although a cell does not use them: a later cell may.
function flags(loader, version, source, cell) {
  const compiler = cell ? { preserveValueImports: true, verbatimModuleSyntax: false } : {};
  // JavaScript's semantics; experimental decorators of fields need TypeScript's older ones.
  compiler.useDefineForClassFields = !/@[\p{ID_Start}$_(]/u.test(source);
  const [, minor] = version.split(".").map(Number);
  if (minor < 21) compiler.experimentalDecorators = true; // esbuild knows only these
  return [
    `--loader=${loader}`, `--target=node${MAJOR}`, "--sourcemap=external", "--sources-content=false", "--sourcefile=cell",
    "--log-level=silent", "--log-limit=1", `--tsconfig-raw=${JSON.stringify({ compilerOptions: compiler })}`,
  ];
}

const options = { env: {}, cwd: "/", encoding: "utf8", maxBuffer: MAX_PACKET, stdio: ["pipe", "pipe", "pipe"] };

// Service is esbuild's process, started at its first use and again after it ended.
export class Service {
  constructor(esbuild) {
    this.esbuild = esbuild;
    this.child = null;
    this.requests = new Map();
    this.last = 0;
  }

  // start starts the service and returns the version of esbuild.
  start() {
    return (this.child ??= this.launch().catch((error) => {
      this.child = null;
      throw error;
    }));
  }

  async launch() {
    const version = await new Promise((resolve, reject) => {
      execFile(this.esbuild, ["--version"], options, (error, said) => (error ? reject(error) : resolve(said.trim())));
    });
    // Outside the kernel's process group, whose signals are for the code.
    const child = spawn(this.esbuild, [`--service=${version}`], { ...options, stdio: ["pipe", "pipe", "ignore"], detached: true });
    child.unref();
    for (const stream of [child.stdin, child.stdout]) {
      Object.assign(stream, { emit, on });
      stream.unref();
      stream.on("error", () => {});
    }
    this.read(child.stdout);
    child.on("error", () => this.ended());
    child.stdout.on("close", () => this.ended());
    return { version, child };
  }

  ended() {
    this.child = null;
    for (const request of this.requests.values()) request(null);
    this.requests.clear();
  }

  read(stream) {
    let held = Buffer.alloc(0);
    let greeted = false;
    stream.on("data", (data) => {
      held = held.length === 0 ? data : Buffer.concat([held, data]);
      while (held.length >= 4) {
        const length = held.readUInt32LE(0);
        if (length > MAX_PACKET) return stream.destroy();
        if (held.length < 4 + length) return;
        if (greeted) this.receive(held.subarray(4, 4 + length));
        greeted = true; // the first packet is the version
        held = held.subarray(4 + length);
      }
    });
  }

  receive(packet) {
    const { id, value } = decode(packet);
    const request = this.requests.get(id >>> 1);
    this.requests.delete(id >>> 1);
    request?.(value);
  }

  async ask(source, loader, cell) {
    for (let i = 0; i < TRIES; i++) {
      const { version, child } = await this.start();
      const id = ++this.last;
      const answer = new Promise((resolve) => this.requests.set(id, resolve));
      child.stdin.write(encode(id << 1, { command: "transform", flags: flags(loader, version, source, cell), inputFS: false, input: Buffer.from(source) }));
      const value = await answer;
      if (value !== null) return value;
    }
    throw new CompileError("esbuild, which takes the types away, ended while it read the code; it may have had too little memory");
  }

  // erase returns the code as JavaScript and its source map, or esbuild's reason for refusing it with
  // the line from 1 and the column in bytes from 0. A cell keeps all its imports.
  async erase(source, { loader = "ts", cell }) {
    const { code, map, errors, error } = await this.ask(source, loader, cell);
    if (error) throw new CompileError(`esbuild: ${error}`);
    if (errors.length === 0) return { code: String(code), map: String(map) };
    const { text, location } = errors[0];
    return { refused: { text, line: location?.line ?? 1, column: location?.column ?? 0 } };
  }

  // eraseNow compiles a file to CommonJS for require, which cannot wait.
  eraseNow(source, loader) {
    const version = execFileSync(this.esbuild, ["--version"], options).trim();
    const argv = flags(loader, version, source, false).filter((flag) => !/^--(log-|sourcemap=|sourcefile=)/.test(flag));
    const made = execFileSync(this.esbuild, [...argv, "--sourcemap=inline", "--format=cjs", "--log-level=error", "--color=false"], { ...options, input: source });
    const [code, map] = made.split("//# sourceMappingURL=data:application/json;base64,");
    return { code, map: Buffer.from(map, "base64").toString() };
  }
}

class CompileError extends Error {
  name = "CompileError";
}

// --- packets ------------------------------------------------------------------------

// A packet is its length, its id and a value. Numbers have 32 bits, the low byte first. A value
// begins with its kind: 0 null, 1 a boolean, 2 a number, 3 a text, 4 bytes, 5 a list, 6 an object.

function encode(id, value) {
  const parts = [];
  const number = (n) => parts.push(Buffer.from(Uint32Array.of(n).buffer));
  const bytes = (data) => {
    number(data.length);
    parts.push(data);
  };
  const visit = (item) => {
    if (typeof item === "boolean") return parts.push(Buffer.from([1, item ? 1 : 0]));
    if (typeof item === "string") return parts.push(Buffer.from([3])), bytes(Buffer.from(item));
    if (Buffer.isBuffer(item)) return parts.push(Buffer.from([4])), bytes(item);
    const list = Array.isArray(item);
    parts.push(Buffer.from([list ? 5 : 6]));
    number(list ? item.length : Object.keys(item).length);
    for (const [key, each] of Object.entries(item)) {
      if (!list) bytes(Buffer.from(key));
      visit(each);
    }
  };
  number(id);
  visit(value);
  const packet = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(Uint32Array.of(packet.length).buffer), packet]);
}

function decode(packet) {
  let at = 4;
  const number = () => packet.readInt32LE((at += 4) - 4);
  const bytes = () => {
    const length = number();
    return packet.subarray(at, (at += length));
  };
  const visit = () => {
    switch (packet[at++]) {
      case 0:
        return null;
      case 1:
        return packet[at++] === 1;
      case 2:
        return number();
      case 3:
        return bytes().toString();
      case 4:
        return bytes();
      case 5:
        return Array.from({ length: number() }, visit);
      case 6:
        return Object.fromEntries(Array.from({ length: number() }, () => [bytes().toString(), visit()]));
    }
    throw new Error("esbuild sent a packet that cannot be read");
  };
  return { id: packet.readInt32LE(0), value: visit() };
}
