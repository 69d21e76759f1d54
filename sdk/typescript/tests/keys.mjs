// A server that requires API keys: the SDK reads YURT_API_KEY. A refused key, and a key that is revoked while a stream is followed, are
// typed errors. YURT_KEY_ID names the key of YURT_API_KEY, YURT_READER_KEY may only read, YURT_ADMIN_KEY revokes.

import assert from "node:assert/strict";
import { sdk } from "./sdk.mjs";

const { AccessError, InvalidArgumentError, Sandbox, Yurt } = sdk;
const { YURT_SERVER: url, YURT_KEY_ID: id, YURT_READER_KEY: reader, YURT_ADMIN_KEY: admin } = process.env;

async function refused(Kind, code, field, call) {
  let got;
  try {
    got = await call();
  } catch (error) {
    assert.ok(error instanceof Kind, `${error} was thrown; expected ${Kind.name}`);
    assert.deepEqual([error.code, error.field], [code, field], String(error));
    assert.ok(!String(error).includes("yurt_a"), `${error} tells the key; expected no word of it`);
    return;
  }
  assert.fail(`${got} was returned; expected ${code} of ${field}`);
}

const box = await Sandbox.create();
assert.equal((await box.runCode("6 * 7", { language: "python" })).value, 42);
let shown = "";
for await (const part of await box.pty("echo ready")) shown += new TextDecoder().decode(part);
assert.equal(shown, "ready\r\n");
await refused(AccessError, "unauthenticated", undefined, () => Sandbox.create({ apiKey: "yurt_" + "a".repeat(40) }));
await refused(AccessError, "forbidden", undefined, () => Sandbox.create({ apiKey: reader }));
await refused(InvalidArgumentError, "invalid_argument", "apiKey", () => Sandbox.create({ apiKey: "yurt_a\nb" }));
await refused(InvalidArgumentError, "invalid_argument", "apiKey", () => Sandbox.create({ apiKey: "yurt_aé" }));
const key = process.env.YURT_API_KEY;
delete process.env.YURT_API_KEY;
await refused(AccessError, "unauthenticated", undefined, () => Sandbox.connect(box.id));
process.env.YURT_API_KEY = key;

const execution = await box.streamCode("import time\nwhile True:\n    print('on', flush=True)\n    time.sleep(0.1)", { language: "python" });
await refused(AccessError, "unauthenticated", undefined, async () => {
  let revoked;
  for await (const event of execution) {
    if (event.type === "stdout") revoked ??= await fetch(`${url}/api/v1/keys/${id}`, { method: "DELETE", headers: { authorization: `Bearer ${admin}` } });
  }
});
await refused(AccessError, "unauthenticated", undefined, () => box.runCommand("true"));
const left = await Sandbox.connect(box.id, { client: new Yurt({ apiKey: admin }) });
assert.equal((await left.execution(execution.id).record()).state, "running", "the execution ended with the key of its caller");
await left.kill();
console.log("all refused");
