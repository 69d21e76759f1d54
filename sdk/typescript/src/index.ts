/**
 * Sandboxes for untrusted code.
 *
 *     import { Sandbox } from "@yurt/sandbox";
 *
 *     const sandbox = await Sandbox.create();
 *     console.log((await sandbox.runCode("6 * 7", { language: "python" })).text);
 *     await sandbox.kill();
 *
 * @module
 */

import { node } from "./platform/node.js";
import { use } from "./platform/platform.js";

use(node);

export * from "./main.js";
