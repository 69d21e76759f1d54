// Opens pages in Chromium and prints the verdict of each.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const profile = await mkdtemp(join(tmpdir(), "chromium-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: "/usr/bin/chromium", headless: true,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});
try {
  for (const address of process.argv.slice(2)) {
    const tab = await context.newPage();
    await tab.goto(address);
    await tab.waitForFunction(() => window.verdict, undefined, { timeout: 120_000 });
    console.log((await tab.evaluate(() => window.verdict)).split("\n")[0]);
  }
} finally {
  await context.close();
  await rm(profile, { recursive: true, force: true });
}
