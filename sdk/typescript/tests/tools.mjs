// The tools as each framework calls them.

import assert from "node:assert/strict";
import { tool as langchainTool } from "@langchain/core/tools";
import { Sandbox, tools } from "@yurt/sandbox";
import { jsonSchema, tool } from "ai";

const names = ["run_code", "run_command", "write_file", "read_file", "list_files"];
const sandbox = await Sandbox.create();
assert.deepEqual(tools.openai().map((each) => each.function.name), names);
assert.deepEqual(tools.anthropic().map((each) => each.input_schema.type), names.map(() => "object"));

const bound = tools.langchain(sandbox, langchainTool);
assert.deepEqual(bound.map((each) => each.name), names);
assert.equal(await bound[0].invoke({ code: "x = 6\nx * 7" }), "42");
assert.equal(await bound[2].invoke({ path: "a.txt", text: "hej" }), "3 bytes written");
await assert.rejects(() => bound[1].invoke({ command: 5 }));

const set = tools.aiSdk(sandbox, { tool, jsonSchema });
assert.deepEqual(Object.keys(set), names);
assert.equal(set.run_code.inputSchema.jsonSchema.required[0], "code");
assert.equal(await set.read_file.execute({ path: "a.txt" }), "hej");
assert.equal(await set.run_code.execute({ code: "1 / 0" }).then((told) => /ZeroDivisionError/.test(told)), true);

assert.equal(await tools.call(sandbox, "list_files", {}), "a.txt");
assert.equal(await tools.call(sandbox, "run_command", { command: "exit 3" }), "exit code 3");
await sandbox.kill();
console.log("all called");
