// Runs the scenarios that every SDK must pass; the README.md beside their file describes the steps.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { sdk } from "./sdk.mjs";
import * as surface from "./surface.mjs";

const { ConflictError, NotFoundError, Sandbox, Yurt, YurtError } = sdk;
const mib = Buffer.alloc(1 << 20, Uint8Array.from({ length: 256 }, (_, i) => i));

class Mismatch extends Error {}

const checks = {
  $gte: (got, n) => got >= n,
  $lte: (got, n) => got <= n,
  $matches: (got, pattern) => new RegExp(pattern).test(String(got)),
};

function compare(want, got, place) {
  const told = () => `${place} is ${JSON.stringify(got)}; expected ${JSON.stringify(want)}`;
  const isObject = want !== null && typeof want === "object" && !Array.isArray(want);
  if (isObject && Object.keys(want).some((key) => key.startsWith("$"))) {
    if (!Object.entries(want).every(([key, value]) => checks[key](got, value))) throw new Mismatch(told());
  } else if (isObject && got !== null && typeof got === "object") {
    for (const [name, value] of Object.entries(want)) compare(value, got[name], `${place}.${name}`);
  } else if (!isDeepStrictEqual(want, got ?? null)) {
    throw new Mismatch(told());
  }
}

/** Replaces the names of numbers that JSON lacks by the numbers. */
function numbers(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  if ("$number" in value) return Number(value.$number);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, numbers(member)]));
}

const sessionJson = (info) => ({ state: info.state, template: info.template_id, metadata: info.metadata ?? {}, timeout: info.timeout });

const resultJson = (result) => ({
  stdout: result.stdout, stderr: result.stderr, exit_code: result.exitCode, value: result.value, text: result.text,
  error: result.error ? { type: result.error.type, message: result.error.message } : null,
});

const peakMib = () => Math.floor(process.resourceUsage().maxRSS / 1024);

/** One run of a scenario's steps, with its sandboxes. */
class Scenario {
  made = [];
  named = {};
  keys = {};

  constructor(client) {
    this.client = client;
  }

  async run(steps) {
    for (const [i, step] of steps.entries()) {
      const place = `step ${i + 1} (${step.do})`;
      const began = performance.now();
      const timed = () => step.seconds && compare(step.seconds, (performance.now() - began) / 1000, place + " seconds");
      let got;
      try {
        got = await this.perform(step);
      } catch (error) {
        if (!(error instanceof YurtError)) throw error;
        if (!step.error) throw new Mismatch(`${place} failed: ${error.name} ${error.message}`);
        const told = { code: error.code, field: error.field, request_id: error.requestId, retry_after: error.retryAfter };
        compare(step.error, told, place + " error");
        timed();
        continue;
      }
      if (step.error) throw new Mismatch(`${place} returned ${JSON.stringify(got)}; expected the error ${JSON.stringify(step.error)}`);
      compare(step.expect ?? {}, got ?? {}, place);
      timed();
    }
  }

  /** Returns the client of a step, which can have a key that the scenario created. */
  clientOf(step) {
    return step.key ? new Yurt({ apiKey: this.keys[step.key].key }) : this.client;
  }

  perform(step) {
    const options = numbers(step.with ?? {});
    if (step.do === "at_once") return this.atOnce(step, options.count);
    const box = this.named[step.in];
    if (step.do in surface) return surface[step.do](this, step, options);
    if (["create", "connect", "list", "control"].includes(step.do)) return this[step.do](step, box, options);
    if (!box) throw new Error(`no sandbox is named ${step.in}`);
    return this[step.do](box, options);
  }

  async end() {
    for (const box of this.made) {
      await box.kill().catch((error) => {
        if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
      });
    }
  }

  async atOnce(step, count) {
    await Promise.all(Array.from({ length: count }, async () => {
      const part = new Scenario(this.client);
      await part.run(step.steps).finally(() => part.end());
    }));
  }

  async create(step, _, options) {
    const box = await Sandbox.create({ client: this.clientOf(step), ...options });
    this.made.push(box);
    this.named[step.as] = box;
    return sessionJson(box.info);
  }

  async connect(step, box, { id }) {
    const found = await Sandbox.connect(box ? box.id : id, { client: this.clientOf(step) });
    this.named[step.as] = found;
    return sessionJson(found.info);
  }

  async list(_, __, options) {
    return { count: (await Sandbox.list({ client: this.client, ...options })).length };
  }

  async control(_, __, options) {
    const answer = await fetch(process.env.YURT_CONTROL, { method: "POST", body: JSON.stringify(options) });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }

  kill = async (box, { delete_results: deleteResults } = {}) => sessionJson(await box.kill({ deleteResults }));
  pause = async (box) => sessionJson(await box.pause());
  resume = async (box) => sessionJson(await box.resume());
  set_timeout = async (box, { timeout }) => sessionJson(await box.setTimeout(timeout));
  run_code = async (box, { code, ...options }) => resultJson(await box.runCode(code, options));
  run_command = async (box, { command, ...options }) => resultJson(await box.runCommand(command, options));
  invoke = async (box, { code, event, ...options }) => resultJson(await box.invoke(code, event, options));

  async stream_code(box, { code, cancel_at, pause_seconds, on_disconnect: onDisconnect, ...options }) {
    const began = performance.now();
    const events = [];
    const execution = await box.streamCode(code, { onDisconnect, ...options });
    for await (const event of execution) {
      if (events.push(event) === 1 && pause_seconds) await sleep(pause_seconds * 1000);
      if (event.type === cancel_at) {
        cancel_at = undefined;
        await execution.cancel();
      }
    }
    const stdout = events.filter((event) => event.type === "stdout").map((event) => event.text).join("");
    const numbers = events.map((event) => event.seq);
    return {
      ...resultJson(await execution.result()),
      stdout, stdout_bytes: stdout.length, events: events.length, seq: numbers.every((seq, i) => seq === i + 1) ? "1..n" : numbers,
      first: events[0].type, last: events.at(-1).type, seconds: (performance.now() - began) / 1000,
    };
  }

  async abandon(box, { command, after_seconds }) {
    const signal = AbortSignal.timeout(after_seconds * 1000);
    try {
      await box.runCommand(command, { signal });
    } catch (error) {
      if (error === signal.reason) return {};
      throw error;
    }
    throw new Mismatch("the command ended before it was interrupted");
  }

  contexts = async (box) => ({ names: (await box.contexts.list()).map((context) => context.name).sort() });
  restart_context = (box, { name }) => box.contexts.restart(name);
  processes = async (box, { named }) => ({ count: (await box.processes.list()).filter((process) => process.name === named).length });

  async write_file(box, { path, text, base64, append }) {
    return { size: (await box.files.write(path, base64 === undefined ? text : Buffer.from(base64, "base64"), { append })).size };
  }

  async read_file(box, { path, bytes, ...part }) {
    if (bytes) return { base64: Buffer.from(await box.files.readBytes(path, part)).toString("base64") };
    return { text: await box.files.read(path) };
  }

  async list_files(box, { path }) {
    const paths = (await box.files.list(path)).map((file) => file.path);
    return { count: paths.length, paths };
  }

  upload = (box, { path, mib: count }) => inDirectory(async (directory) => {
    const source = join(directory, "file");
    const file = await open(source, "w");
    for (let i = 0; i < count; i++) await file.write(mib);
    await file.close();
    const [before, seen] = [peakMib(), []];
    const info = await box.files.upload(source, path, { onProgress: (sent, total) => seen.splice(0, 1, [sent, total]) });
    return { size: info.size, progressed: isDeepStrictEqual(seen[0], [info.size, info.size]), grown_mib: peakMib() - before };
  });

  download = (box, { path }) => inDirectory(async (directory) => {
    const [before, seen, target, digest] = [peakMib(), [], join(directory, "file"), createHash("sha256")];
    const size = await box.files.download(path, target, { onProgress: (got) => seen.splice(0, 1, got) });
    const grown = peakMib() - before;
    for await (const chunk of createReadStream(target)) digest.update(chunk);
    return { size, sha256: digest.digest("hex"), progressed: seen[0] === size, grown_mib: grown };
  });
}

async function inDirectory(work) {
  const directory = await mkdtemp(join(tmpdir(), "scenario-"));
  return work(directory).finally(() => rm(directory, { recursive: true }));
}

const { scenarios } = JSON.parse(await readFile(process.env.YURT_SCENARIOS, "utf8"));
for (const wanted of scenarios) {
  const only = process.env.YURT_ONLY;
  if (only ? !(only in wanted) : "long" in wanted || "keys" in wanted) continue;
  const scenario = new Scenario(new Yurt());
  const told = { scenario: wanted.name, ok: true };
  const failed = (problem) => Object.assign(told, { ok: false, problem });
  await scenario.run(wanted.steps).catch((error) => failed(error instanceof Mismatch ? error.message : error.stack));
  await scenario.end().catch((error) => failed(`ending its sandboxes: ${error.stack}`));
  console.log(JSON.stringify(told));
}
