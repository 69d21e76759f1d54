// The package as a page uses it; browser.mjs waits for its verdict.

import { InvalidArgumentError, NotFoundError, Sandbox } from "@yurt/sandbox";

function expect(got, want, about) {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${about} is ${JSON.stringify(got)}; expected ${JSON.stringify(want)}`);
}

async function refused(Kind, call) {
  const error = await call().then(() => undefined, (thrown) => thrown);
  if (!(error instanceof Kind)) throw new Error(`${error} was thrown; expected ${Kind.name}`);
}

async function use() {
  const sandbox = await Sandbox.create();
  expect((await sandbox.runCode("6 * 7", { language: "python" })).value, 42, "the value");
  const types = [];
  for await (const event of await sandbox.streamCommand("echo hello")) types.push(event.type);
  expect(types, ["started", "stdout", "ended"], "the events");

  const control = new AbortController();
  setTimeout(() => control.abort(new RangeError("enough")), 300);
  await refused(RangeError, () => sandbox.runCommand("sleep 60", { signal: control.signal }));
  expect((await sandbox.processes.list()).filter((process) => process.name === "sleep").length, 0, "the number of sleeps");

  const data = new Blob([new Uint8Array(3 << 20).fill(7)]);
  let sent = 0;
  const info = await sandbox.files.upload(data, "a b#é.bin", { onProgress: (done) => (sent = done) });
  expect([info.size, sent], [3 << 20, 3 << 20], "the upload");
  let size = 0;
  await sandbox.files.download("a b#é.bin", new WritableStream({ write: (chunk) => void (size += chunk.length) }));
  expect(size, 3 << 20, "the download");
  await refused(InvalidArgumentError, () => sandbox.files.upload(data, "../x"));
  await refused(InvalidArgumentError, () => sandbox.files.upload("/etc/passwd", "x"));
  await refused(NotFoundError, () => Sandbox.connect("ses_nope"));

  const terminal = await sandbox.pty("tty && echo ready");
  let shown = "";
  for await (const part of terminal) shown += new TextDecoder().decode(part);
  expect(shown, "/dev/pts/0\r\nready\r\n", "the terminal");
  terminal.close();
  expect((await sandbox.kill()).state, "terminated", "the state");
}

/** Uses a sandbox with only its token. */
async function useToken() {
  const sandbox = await Sandbox.connect(window.box, { apiKey: window.token });
  const terminal = await sandbox.pty("echo ready");
  let shown = "";
  for await (const part of terminal) shown += new TextDecoder().decode(part);
  expect(shown, "ready\r\n", "the terminal");
  terminal.close();
  expect((await sandbox.runCode("6 * 7", { language: "python" })).value, 42, "the value");
  const keyed = await Sandbox.connect(window.box, { apiKey: window.key });
  await refused(InvalidArgumentError, () => keyed.pty("echo ready")); // a key has no place in a page
}

(window.token ? useToken : use)().then(() => (window.verdict = "all used"), (error) => (window.verdict = String(error.stack ?? error)));
