// Starts a local server. YURT_END chooses its end: by a call, at the end of the program, or by a kill.

import { Sandbox, UnavailableError } from "@yurt/sandbox";

try {
  const sandbox = await Sandbox.create({ local: true });
  process.stdout.write((await sandbox.runCommand("echo hello")).stdout);
  if (process.env.YURT_END === "kill") {
    await sandbox.kill();
    const gone = await fetch(sandbox.client.url).catch(() => undefined);
    if (gone) console.log("the server is still there");
  }
  if (process.env.YURT_END === "crash") process.kill(process.pid, "SIGKILL");
} catch (error) {
  console.log(error instanceof UnavailableError ? `refused: ${error.field}` : error);
}
