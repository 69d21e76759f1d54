// Bad input and clients that disconnect: each leads to a clear error and leaves no process and no file.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sdk } from "./sdk.mjs";

const { InvalidArgumentError, NotFoundError, Sandbox, Templates, UnavailableError, Yurt, tools } = sdk;

async function refused(Kind, field, call) {
  let got;
  try {
    got = await call();
  } catch (error) {
    assert.ok(error instanceof Kind, `${error} was thrown; expected ${Kind.name}`);
    assert.equal(error.field, field, `${error} names the field ${error.field}; expected ${field}`);
    return;
  }
  assert.fail(`${got} was returned; expected ${Kind.name} of ${field}`);
}

const sleepers = async (box) => (await box.processes.list()).filter((process) => process.name === "sleep").length;

async function wrongValues(box) {
  const cyclic = {};
  cyclic.self = cyclic;
  await refused(InvalidArgumentError, "code", () => box.runCode(new Uint8Array(1)));
  await refused(InvalidArgumentError, "code", () => box.runCode("\ud800"));
  await refused(InvalidArgumentError, "code", () => box.runCode(1n));
  await refused(InvalidArgumentError, "language", () => box.runCode("1", { language: 5 }));
  await refused(InvalidArgumentError, "files", () => box.runCode("1", { files: { a: 5 } }));
  await refused(InvalidArgumentError, "event", () => box.invoke("def handler(e, c): pass", cyclic, { language: "python" }));
  await refused(InvalidArgumentError, "event", () => box.invoke("def handler(e, c): pass", { a: [NaN] }, { language: "python" }));
  await refused(InvalidArgumentError, "command", () => box.runCommand(["sleep", 1]));
  await refused(InvalidArgumentError, "timeout", () => box.setTimeout(NaN));
  await refused(InvalidArgumentError, "env", () => box.runCommand("true", { env: { A: null } }));
  await refused(InvalidArgumentError, "args", () => box.runCode("1", { args: ["a", null] }));
  await refused(InvalidArgumentError, "context", () => box.runCode("1", { context: 5 }));
  await refused(InvalidArgumentError, "handler", () => box.invoke("1", {}, { handler: 5, language: "python" }));
  await refused(InvalidArgumentError, "files", () => Sandbox.create({ files: ["a"] }));
  await refused(InvalidArgumentError, "options", () => Sandbox.create("python-basic"));
  await refused(InvalidArgumentError, "options", () => Sandbox.create(null));
  await refused(InvalidArgumentError, "options", () => box.runCode("1", "python"));
  await refused(InvalidArgumentError, "options", () => box.invoke("1", {}, "python"));
  await refused(InvalidArgumentError, "id", () => Sandbox.connect(undefined));
  await refused(InvalidArgumentError, "files", () => box.runCode("1", { files: "a" }));
  await refused(InvalidArgumentError, "metadata", () => Sandbox.list({ metadata: ["a"] }));
  await refused(InvalidArgumentError, "mode", () => box.files.write("x", "x", { mode: "9" }));
  await refused(InvalidArgumentError, "pid", () => box.processes.kill("../../x"));
  const templates = new Templates(new Yurt());
  await refused(InvalidArgumentError, "extends", () => templates.push([{ name: "a" }], { extends: { b: "a" } }));
  await refused(InvalidArgumentError, "extends", () => templates.push([{ name: "a" }], { extends: ["a"] }));
  await refused(InvalidArgumentError, "createdAfter", () => Sandbox.list({ createdAfter: "today" }));
  await refused(InvalidArgumentError, "state", () => Sandbox.list({ state: "asleep" }));
  await refused(InvalidArgumentError, "on_disconnect", () => box.runCommand("true", { onDisconnect: "end" }));
  await refused(InvalidArgumentError, "tty", () => box.streamCommand("true", { tty: 5 }));
  await refused(InvalidArgumentError, "offset", () => box.files.readBytes("x", { offset: -1 }));
  await refused(InvalidArgumentError, "length", () => box.files.readBytes("x", { length: 0 }));
  assert.equal((await box.files.write("x", "x", { mode: 0o640 })).mode, "0640");
  assert.equal((await box.files.chmod("x", 0o750)).mode, "0750");
  await refused(InvalidArgumentError, "path", () => box.files.read(5));
  await refused(InvalidArgumentError, "path", () => box.files.write("a\nb", "x"));
  await refused(InvalidArgumentError, "path", () => box.files.write("\ud800", "x"));
  for (const path of ["..", "../x", "a/../../x"]) {
    await assert.rejects(() => box.files.read(path), { code: "path_outside_workspace" });
  }
  await refused(InvalidArgumentError, "data", () => box.files.write("x", 5));
  await refused(InvalidArgumentError, "source", () => box.files.upload(5, "x"));
  await refused(InvalidArgumentError, "cwd", () => box.pty(undefined, { cwd: "/nope" }));
  await refused(InvalidArgumentError, "name", () => tools.call(box, "nope", {}));
  await refused(InvalidArgumentError, "text", () => tools.call(box, "write_file", { path: "x" }));
  await refused(InvalidArgumentError, "cod", () => tools.call(box, "run_code", { code: "1", cod: "1" }));
  await refused(InvalidArgumentError, "id", () => Sandbox.connect(".."));
  await refused(NotFoundError, undefined, () => box.contexts.restart("nope"));
  await refused(NotFoundError, undefined, () => box.execution("exe_nope").result());
  await refused(NotFoundError, undefined, () => Sandbox.connect("ses_nope"));
  await refused(InvalidArgumentError, "url", () => Sandbox.create({ url: "ftp://x" }));
  await refused(UnavailableError, undefined, () => Sandbox.create({ client: new Yurt({ url: "http://127.0.0.1:1", patience: 0.1 }) }));
}

async function leaving(box) {
  const fail = () => {
    throw new RangeError("of the callback");
  };
  await assert.rejects(() => box.runCommand("echo hello; sleep 60", { onStdout: fail }), RangeError);
  assert.equal(await sleepers(box), 0, "a sleep runs on after the callback failed");
  const execution = await box.streamCommand("sleep 60");
  for await (const event of execution) {
    assert.equal(event.type, "started");
    break;
  }
  await sleep(200);
  assert.equal(await sleepers(box), 1, "the execution ended when its loop was left");
  await execution[Symbol.asyncDispose]();
  assert.equal(await sleepers(box), 0, "a sleep runs on after the execution was disposed of");

  const directory = await mkdtemp(join(tmpdir(), "download-"));
  await refused(NotFoundError, "path", () => box.files.download("nope", join(directory, "file")));
  await box.files.write("big", new Uint8Array(8 << 20));
  const control = new AbortController();
  const progress = () => control.abort(new RangeError("enough"));
  await assert.rejects(() => box.files.download("big", join(directory, "file"), { signal: control.signal, onProgress: progress }), RangeError);
  assert.deepEqual(await readdir(directory), [], "a failed download left a file");
  await rm(directory, { recursive: true });
}

/** An upload whose source breaks, or that is aborted, leaves no file. */
async function brokenOff(box) {
  async function* source(end) {
    for (let i = 0; i < 4; i++) yield new Uint8Array(1 << 18);
    await end();
  }
  const breaks = () => Promise.reject(new RangeError("of the source"));
  await assert.rejects(() => box.files.upload(source(breaks), "half"));
  const control = new AbortController();
  const aborts = () => {
    control.abort(new RangeError("enough"));
    return sleep(100);
  };
  await assert.rejects(() => box.files.upload(source(aborts), "half", { signal: control.signal }), RangeError);
  for (let round = 0; (await box.files.list()).some((file) => file.path === "half"); round++) {
    assert.ok(round < 50, "an upload that broke off left a file");
    await sleep(100);
  }
}

async function cancelled(box) {
  const reason = new RangeError("enough");
  for (const wait of [0, 300]) {
    const control = new AbortController();
    const running = box.runCommand("sleep 60", { signal: control.signal });
    setTimeout(() => control.abort(reason), wait);
    await assert.rejects(running, reason);
  }
  for (let round = 0; (await sleepers(box)) > 0; round++) { // the first was cancelled before the server named it
    assert.ok(round < 50, "a sleep runs on after its command was aborted");
    await sleep(100);
  }
  await assert.rejects(box.runCommand("touch made", { signal: AbortSignal.abort(reason) }), reason);
  await refused(NotFoundError, "path", () => box.files.stat("made"));
  const results = await Promise.all(Array.from({ length: 20 }, (_, i) => box.runCommand(`echo ${i}`)));
  assert.deepEqual(results.map((result) => result.stdout), results.map((_, i) => `${i}\n`));
  const ended = AbortSignal.timeout(300);
  await assert.rejects(async () => {
    for await (const _ of box.files.watch("", { signal: ended }));
  }, ended.reason);
}

/** A terminal buffers little unread output, and continues when the client reads again. */
async function unread(box) {
  const terminal = await box.pty("head -c 40000000 /dev/zero; echo; echo end");
  await sleep(1500);
  const before = process.memoryUsage().rss;
  let size = 0;
  let last = "";
  for await (const shown of terminal) {
    size += shown.length;
    last = Buffer.from(shown).toString();
  }
  terminal.close();
  assert.ok(size >= 40_000_000, `${size} bytes were shown; expected 40 million`);
  assert.ok(last.endsWith("end\r\n"), `the last shown is ${JSON.stringify(last.slice(-10))}`);
  assert.ok(before < 250 << 20, `${before >> 20} MiB were held while the terminal was not read`);
}

/** An aborted terminal hangs up: its program ends. */
async function abortedTerminal(box) {
  const reason = new RangeError("enough");
  await assert.rejects(async () => box.pty("sleep 60", { signal: AbortSignal.abort(reason) }), reason);
  for (const wait of [0, 300]) {
    const control = new AbortController();
    setTimeout(() => control.abort(reason), wait);
    await assert.rejects(async () => {
      for await (const _ of await box.pty("echo hello; sleep 60", { signal: control.signal }));
    }, reason);
  }
  for (let round = 0; (await sleepers(box)) > 0; round++) {
    assert.ok(round < 50, "a sleep runs on after its terminal was aborted");
    await sleep(100);
  }
}

const box = await Sandbox.create();
for (const part of [wrongValues, leaving, brokenOff, cancelled, unread, abortedTerminal]) await part(box);
await box.kill();
assert.deepEqual(await Sandbox.list(), []);
console.log("all refused");
