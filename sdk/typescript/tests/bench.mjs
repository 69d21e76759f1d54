// Runs a cell of a sandbox for each line on stdin: "sdk" by the SDK, "raw" by one request of fetch, which reads its JSON.

import { createInterface } from "node:readline";
import { Sandbox } from "@yurt/sandbox";

const url = process.argv[2];
const [code, options] = ["6 * 7", { language: "python", context: "default" }];
const sandbox = await Sandbox.create({ template: "python-basic", url });

const by = {
  sdk: async () => (await sandbox.runCode(code, options)).value,
  raw: async () => {
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify({ code, ...options }) };
    const answer = await fetch(`${url}/api/v1/sessions/${sandbox.id}/execute`, request);
    return (await answer.json()).result;
  },
};

for await (const line of createInterface({ input: process.stdin })) console.log(await by[line]());
await sandbox.kill();
