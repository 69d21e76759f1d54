// Operations of scenarios that use each remaining call of the SDK once.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sdk } from "./sdk.mjs";

const { AuditLog, Keys, Nodes, Pools, Templates, Tenants, YurtError } = sdk;

/** Returns the code of the error that a call ends with. */
async function refusal(call) {
  try {
    await call();
  } catch (error) {
    if (error instanceof YurtError) return error.code;
    throw error;
  }
  return "it succeeded";
}

const boxOf = (play, step) => play.named[step.in];

export const health = async (play) => ({
  live: (await play.client.health()).status === "ok", ready: (await play.client.ready()).status === "ready",
});
export const version = async (play) => ({ version: (await play.client.version()).version });
export const runtimes = async (play) => ({ names: (await play.client.runtimes()).map((runtime) => runtime.name) });

export async function containers(play) {
  const found = await play.client.containers();
  return { count: found.length, read: (await play.client.container(found[0].id)).id === found[0].id };
}

export async function container(play, step) {
  const [{ id }] = await play.client.containers({ sessionId: boxOf(play, step).id });
  const { init_answers: answers, oom_kills, usage } = await play.client.containerHealth(id);
  const text = (await play.client.containerLogs(id)).map((entry) => entry.text).join("");
  for await (const entry of play.client.followContainerLogs(id)) return { answers, oom_kills, limit: usage.memory_limit_bytes, text, followed: entry.text };
}

export async function drain(play) {
  const nodes = new Nodes(play.client);
  const { name } = (await nodes.list())[0];
  const { draining } = await nodes.drain(name, { grace: 3600 });
  return { draining, after: (await nodes.undrain(name)).draining };
}

export async function template(play, _, { name, source }) {
  const templates = new Templates(play.client);
  const created = await templates.create(source.replace("%s", "first"), { onProgress: () => undefined });
  const replaced = await templates.replace(name, source.replace("%s", "second"));
  const told = {
    created: created.description, replaced: replaced.description, read: (await templates.get(name)).description,
    listed: (await templates.list({ namePrefix: name })).map((each) => each.name).join() === name, prepared: (await templates.prepare(name)).length,
  };
  const [base, made] = [`${name}-a`, `${name}-b`];
  await templates.push([base, made].map((each) => ({ name: each, runtimes: ["python"] })), { extends: { [made]: base } });
  told.pushed = (await templates.list({ namePrefix: `${name}-` })).length;
  told.held = await refusal(() => templates.delete(base));
  for (const each of [name, made, base]) await templates.delete(each);
  return { ...told, gone: await refusal(() => templates.get(name)) };
}

export async function pool(play, _, { template: name, max }) {
  const pools = new Pools(play.client);
  const told = { set: (await pools.set(name, { max })).max, read: (await pools.get(name)).max };
  return { ...told, listed: (await pools.list({ templatePrefix: name })).some((each) => each.template === name), unset: (await pools.unset(name)).max };
}

export async function executions(play, step) {
  const box = boxOf(play, step);
  const found = await box.executions();
  const { result } = await box.execution(found[0].id).record();
  const filtered = await Promise.all(["command", "code"].map(async (kind) => (await box.executions({ kind })).length));
  const latest = (await box.latest()).id === found[0].id;
  return {
    count: found.length, states: found.map((each) => each.state), filtered, stdout: result?.stdout,
    latest, result: (await box.latestResult()).stdout,
  };
}

/** Counts the entries of lists with filters that match or do not match. */
export async function narrow(play, step) {
  const box = boxOf(play, step);
  const nodes = new Nodes(play.client);
  const { name: namePrefix } = (await nodes.list())[0];
  const [before, after] = [-3_600_000, 3_600_000].map((ms) => new Date(Date.now() + ms));
  const counts = (lists) => Promise.all(lists.map(async (list) => (await list).length));
  const sessions = (filter) => sdk.Sandbox.list({ client: play.client, idPrefix: box.id, ...filter });
  const containers = (filter) => play.client.containers({ sessionId: box.id, ...filter });
  return {
    sessions: await counts([{}, { state: "paused" }, { createdAfter: after }, { createdBefore: after }].map(sessions)),
    containers: await counts([{}, { state: "dead" }, { template: "absent" }, { node: "absent" }].map(containers)),
    nodes: await counts([true, false].map((healthy) => nodes.list({ namePrefix, healthy, draining: false }))),
    runtimes: await counts(["python", "absent"].map((language) => play.client.runtimes({ language }))),
    contexts: (await counts(["python", "absent"].map((language) => box.contexts.list({ language })))).map((count) => count > 0),
    pools: (await new Pools(play.client).list({ templatePrefix: "absent" })).length,
    processes: (await box.processes.list({ executionId: (await box.latest()).id })).length,
    executions: (await counts([box.executions({ createdAfter: before }), box.executions({ createdBefore: before })])).map((count) => count > 0),
  };
}

export const sized = async (play, step, tty) => ({
  stdout: (await (await boxOf(play, step).streamCommand("stty size", { tty })).result()).stdout,
});

export async function changes(play, step) {
  const events = await boxOf(play, step).events();
  return { count: events.length, first: events[0].to };
}

/** Ends the sandbox while it follows the changes of its state, and then follows those after the last. */
export async function end_followed(play, step) {
  const box = boxOf(play, step);
  const seen = [];
  for await (const event of box.followEvents({ after: 1 })) {
    if (seen.length === 0) await box.kill();
    seen.push(event);
  }
  let after = 0;
  for await (const _ of box.followEvents({ after: seen.at(-1).seq })) after++;
  return { begun: `${seen[0].seq} ${seen[0].to}`, last: seen.at(-1).to, after };
}

export async function logs(play, step) {
  const box = boxOf(play, step);
  const text = (await box.logs()).map((entry) => entry.text).join("");
  for await (const entry of box.followLogs()) return { text, followed: entry.text };
}

export async function conditions(play, step, { path, template: name }) {
  const { files } = boxOf(play, step);
  const templates = new sdk.Templates(play.client);
  const first = await files.write(path, "one", { ifAbsent: true });
  const same = (await files.stat(path)).etag === first.etag;
  const replaced = (await files.write(path, "other", { ifMatch: first.etag })).size;
  const source = (description) => `template "${name}" {\n  extends = "default"\n  description = "${description}"\n}\n`;
  await templates.replace(name, source("first"), { ifAbsent: true });
  const { etag } = await templates.tagged(name);
  await templates.replace(name, source("second"), { ifMatch: etag });
  const told = {
    same, replaced, stale: await refusal(() => files.write(path, "lost", { ifMatch: first.etag })), taken: await refusal(() => files.write(path, "lost", { ifAbsent: true })),
    text: await files.read(path), stale_template: await refusal(() => templates.replace(name, source("lost"), { ifMatch: etag })),
    description: (await templates.get(name)).description,
  };
  await templates.delete(name);
  return told;
}

export const metrics = async (play, step) => ({ limit: (await boxOf(play, step).metrics()).memory_limit_bytes });

export async function copy_tree(play, step, { path, to }) {
  const { files } = boxOf(play, step);
  const directory = await mkdtemp(join(tmpdir(), "tree-"));
  try {
    const archive = join(directory, "archive.tar");
    await files.pack(path, archive).catch(async (error) => {
      assert.deepEqual(await readdir(directory), [], "a failed download left a file");
      throw error;
    });
    return { entries: (await files.unpack(archive, to)).entries };
  } finally {
    await rm(directory, { recursive: true });
  }
}

export async function shape_file(play, step, { path, mode, to }) {
  const { files } = boxOf(play, step);
  const told = {
    mode: (await files.chmod(path, mode)).mode, directory: (await files.makeDir("new")).type, moved: (await files.move(path, to)).path,
    size: (await files.stat(to)).size,
  };
  await files.remove(to);
  return { ...told, gone: await refusal(() => files.stat(to)) };
}

export async function watch(play, step, { path }) {
  const { files } = boxOf(play, step);
  const writing = sleep(500).then(() => files.write(path, "x"));
  for await (const event of files.watch()) {
    await writing;
    return { path: event.path };
  }
}

export async function converse(play, step, { text }) {
  const execution = await boxOf(play, step).streamCommand("cat", { stdinOpen: true });
  await execution.writeStdin(text.slice(0, 1));
  await execution.writeStdin(text.slice(1), { eof: true });
  return { stdout: (await execution.result()).stdout };
}

export async function end_by_signal(play, step) {
  const execution = await boxOf(play, step).streamCommand(["sleep", "60"]);
  await execution.sendSignal("TERM");
  return { exit_code: (await execution.result()).exitCode };
}

export async function end_process(play, step) {
  const box = boxOf(play, step);
  const execution = await box.streamCommand(["sleep", "61"]);
  let found;
  for (let round = 0; !(found = (await box.processes.list()).find((process) => process.name === "sleep")); round++) {
    assert.ok(round < 100, "there is no sleep; expected the one that was started");
    await sleep(50);
  }
  await box.processes.sendSignal(found.pid, "CONT");
  await box.processes.kill(found.pid);
  return { exit_code: (await execution.result()).exitCode };
}

export async function questions(play, step, { code }) {
  const { contexts } = boxOf(play, step);
  const options = { name: "asked", language: "python", timeout: 10 };
  const { matches } = await contexts.complete(code, options);
  const match = matches.map((each) => each.text).find((text) => text.startsWith("print"));
  const { found } = await contexts.inspect(match, options);
  await contexts.remove("asked");
  return { match, found, removed: await refusal(() => contexts.restart("asked")) };
}

const terminalCommand = "stty -echo; stty size; read word; echo $word; stty size; read word; stty size";

export async function terminal(play, step) {
  const box = boxOf(play, step);
  const first = await box.pty(terminalCommand);
  let shown = "";
  const showUntil = async (terminal, end) => {
    while (!shown.endsWith(end)) {
      const part = await terminal.read();
      assert.ok(part, `the terminal showed ${JSON.stringify(shown)} and ended; expected ${JSON.stringify(end)}`);
      shown += Buffer.from(part).toString();
    }
  };
  await showUntil(first, "24 80\r\n");
  const opened = await box.pty(undefined, { executionId: first.executionId, after: first.last });
  await box.execution(opened.executionId).resize(40, 120);
  opened.write("hej\n");
  await showUntil(opened, "40 120\r\n");
  opened.resize(30, 100);
  opened.write("again\n");
  for await (const part of opened) shown += Buffer.from(part).toString();
  opened.close();
  first.close();
  return { shown, exit_code: opened.exitCode };
}

export async function create_key(play, step, { scopes, tenant, name, expires_in: expiresIn }) {
  return remembered(play, step, await new Keys(play.clientOf(step)).create(scopes, { tenant, name, expiresIn }));
}

export async function create_token(play, step, { scopes, expires_in: expiresIn }) {
  const box = boxOf(play, step);
  const made = await box.createToken(scopes, { expiresIn });
  return { ...remembered(play, step, made), session: made.session_id === box.id };
}

function remembered(play, step, made) {
  play.keys[step.as] = made;
  const { id, key, tenant, name, scopes } = made;
  return { id, key, tenant, name, scopes };
}

export const list_keys = async (play, step, options) => ({ names: (await new Keys(play.clientOf(step)).list(options)).map((key) => key.name) });

export async function revoke_key(play, step, { id, named }) {
  return { revoked: Boolean((await new Keys(play.clientOf(step)).revoke(named ? play.keys[named].id : id)).revoked_at) };
}

const usageJson = ({ tenant, quotas, usage: used }) => ({ tenant, sessions: quotas.sessions, memory: quotas.memory, cpu: quotas.cpu, used: used.sessions });

export const set_quotas = async (play, step, { tenant, ...quotas }) => usageJson(await new Tenants(play.clientOf(step)).setQuotas(tenant, quotas));
export const usage = async (play, step, options) => usageJson(await new Tenants(play.clientOf(step)).usage(options));

export async function samples(play, step, options) {
  const sessionId = step.in && boxOf(play, step).id;
  const told = await new Tenants(play.clientOf(step)).samples({ ...options, sessionId });
  return { tenant: told.tenant, resolution: told.resolution, session: sessionId !== undefined && told.session_id === sessionId };
}

export const tenants = async (play, step) => ({ names: (await new Tenants(play.clientOf(step)).list()).map((each) => each.tenant) });

/** An entry appears within about a second of its request. */
export async function audit(play, step, options) {
  const log = new AuditLog(play.clientOf(step));
  for (let round = 0; ; round++) {
    const found = await log.list(options);
    if (found.length > 0 || round > 100) return { count: found.length, session: found[0]?.session_id?.startsWith("ses_") ?? false };
    await sleep(100);
  }
}
