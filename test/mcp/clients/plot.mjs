// Reads an agent's MCP configuration from standard input and requests a plot from its server with the stock TypeScript client.
// It runs in the directory of the installed client.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { json } from "node:stream/consumers";

const require = createRequire(process.cwd() + "/");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const code = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()";
const configuration = await json(process.stdin);
const { url, command, args, env } = (configuration.mcpServers ?? configuration.servers).yurt;
const client = new Client({ name: "plotter", version: "1" });
await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env: { ...process.env, ...env } }));
const patience = { timeout: 300_000 }; // pip installs matplotlib
const drawn = await client.callTool({ name: "run_code", arguments: { code, dependencies: ["matplotlib"] } }, undefined, patience);
const pictures = drawn.content.filter((part) => part.type === "image").map((part) => Buffer.from(part.data, "base64"));
assert.equal(pictures.length, 1, JSON.stringify(drawn));
assert.equal(pictures[0].toString("latin1", 1, 4), "PNG");
await client.callTool({ name: "terminate_sandbox", arguments: { sandbox_id: drawn.structuredContent.sandbox_id } });
await client.close();
console.log("ok");
