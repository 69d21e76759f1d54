// Displays of results, and the callbacks of a running execution.

import assert from "node:assert/strict";
import { sdk } from "./sdk.mjs";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const code = `
import base64, sys
class Shown:
    def __init__(self, **data):
        self.data = data
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {name.replace("__", "/").replace("_", "+").replace("TABLE", "vnd.dataresource"): value for name, value in self.data.items()}
print("out")
print("err", file=sys.stderr)
display(Shown(text__plain="a picture", image__png=${JSON.stringify(pixel)}))
display(Shown(text__plain="a page", text__html="<b>hej</b>", application__TABLE_json={"data": [{"n": 1}], "schema": {"fields": [{"name": "n", "type": "integer"}]}}))
6 * 7`;

const sandbox = await sdk.Sandbox.create();
const told = { stdout: "", stderr: "", results: [], types: [] };
const result = await sandbox.runCode(code, {
  language: "python",
  onStdout: (text) => (told.stdout += text),
  onStderr: (text) => (told.stderr += text),
  onResult: (display) => told.results.push([display.text, display.main]),
  onEvent: (event) => told.types.push(event.type),
});
assert.equal(result.error, undefined, JSON.stringify(result.error));
assert.equal(told.stdout, "out\n");
assert.equal(told.stderr, "err\n");
assert.deepEqual(told.results, [["a picture", false], ["a page", false], ["42", true]]);
assert.deepEqual([told.types[0], told.types.at(-1)], ["started", "ended"]);
assert.deepEqual([result.text, result.value, result.html, result.rows], ["42", 42, "<b>hej</b>", [{ n: 1 }]]);
assert.equal(Buffer.from(result.png).toString("base64"), pixel);
let installed = "";
await sandbox.runCode("import humanize", { language: "python", dependencies: ["humanize==4.9.0"], onProgress: (text) => (installed += text) });
assert.match(installed, /humanize/, "onProgress gets the output of pip");
await sandbox.kill();
console.log("all shown");
