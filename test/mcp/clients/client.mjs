// Drives a Yurt MCP server with the stock TypeScript client. Arguments: the address of the server or the path of
// yurt, and the number of simultaneous conversations. It runs in the directory of the installed client.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

const require = createRequire(process.cwd() + "/");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [target, conversations] = [process.argv[2], Number(process.argv[3])];

async function connect() {
  const client = new Client({ name: "typescript", version: "1" });
  await client.connect(
    target.startsWith("http")
      ? new StreamableHTTPClientTransport(new URL(target + "/mcp"))
      : new StdioClientTransport({ command: target, args: ["mcp", "--log-level", "warn"], env: process.env }),
  );
  await client.listTools(); // from now on the client checks results against their schemas
  return client;
}

async function call(client, name, args, options) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert.ok(!result.isError, JSON.stringify(result));
  return result;
}

async function tour() {
  const client = await connect();
  const { tools } = await client.listTools();
  assert.equal(tools.length, 13);
  const first = await call(client, "run_code", { code: "x = 40" });
  const { sandbox_id } = first.structuredContent;
  assert.equal(first.structuredContent.created, true);
  const second = await call(client, "run_code", { sandbox_id, code: "x + 2" });
  assert.equal(second.structuredContent.result, 42);
  for (const [name, args] of [
    ["create_sandbox", {}],
    ["list_sandboxes", {}],
    ["run_command", { sandbox_id, command: "echo hello" }],
    ["invoke_handler", { sandbox_id, code: "def handler(event, context):\n    return event", event: [1, null] }],
    ["write_file", { sandbox_id, path: "a.txt", text: "hello" }],
    ["read_file", { sandbox_id, path: "a.txt" }],
    ["upload_file", { sandbox_id, path: "b", data_base64: "AAE=" }],
    ["download_file", { sandbox_id, path: "b" }],
    ["list_files", { sandbox_id }],
    ["list_templates", {}],
    ["get_logs", { sandbox_id }],
  ]) {
    const result = await call(client, name, args);
    assert.ok(result.structuredContent, name);
    if (name === "create_sandbox") await call(client, "terminate_sandbox", { sandbox_id: result.structuredContent.sandbox_id });
  }
  const file = await client.readResource({ uri: `yurt://session/${sandbox_id}/a.txt` });
  assert.equal(file.contents[0].text, "hello");
  await assert.rejects(client.readResource({ uri: `yurt://session/${sandbox_id}/nothing` }), /file_not_found/);

  const told = [];
  await call(client, "run_code", { sandbox_id, code: "import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.2)" }, { onprogress: (p) => told.push(p) });
  assert.ok(told.length > 1, "no progress was told");

  const abort = new AbortController();
  const long = call(client, "run_command", { sandbox_id, command: "touch began; sleep 300" }, { signal: abort.signal });
  while ((await client.callTool({ name: "read_file", arguments: { sandbox_id, path: "began" } })).isError) await sleep(50);
  abort.abort();
  await assert.rejects(long);
  for (const deadline = Date.now() + 15_000; ; await sleep(100)) {
    const { structuredContent } = await call(client, "run_command", { sandbox_id, command: "pgrep -x sleep | wc -l" });
    if (structuredContent.stdout.trim() === "0") break;
    assert.ok(Date.now() < deadline, "the cancellation did not reach the process");
  }
  await call(client, "terminate_sandbox", { sandbox_id });
  await client.close();
}

async function conversation(number) {
  const client = await connect();
  const { sandbox_id } = (await call(client, "run_code", { code: `x = ${number}` })).structuredContent;
  for (let step = 0; step < 3; step++) await call(client, "run_code", { sandbox_id, code: "x += 1" });
  assert.equal((await call(client, "run_code", { sandbox_id, code: "x" })).structuredContent.result, number + 3);
  await call(client, "terminate_sandbox", { sandbox_id });
  await client.close();
}

await tour();
await Promise.all(Array.from({ length: conversations }, (_, number) => conversation(number)));
console.log("ok");
process.exit(0);
