// Calls each method with all of its options, and prints the values that it returned, by operation of the API. A test compares both with
// the OpenAPI document. Its server answers each request with all fields of the document.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { AuditLog, Keys, Nodes, Pools, Sandbox, Templates, Tenants, Yurt } from "@yurt/sandbox";

const now = new Date("2026-01-01");
const all = {};

async function told(operation, value) {
  value = await value;
  if (value?.[Symbol.asyncIterator]) {
    const found = [];
    for await (const each of value) found.push(each);
    value = found;
  }
  const attributes = Array.isArray(value) ? { ...value } : {}; // a list may have attributes besides
  (all[operation] ??= []).push(value, attributes);
  return value;
}

async function server(client) {
  await told("version", client.version());
  await told("health", client.health());
  await told("ready", client.ready());
  await told("list-runtimes", client.runtimes({ language: "python" }));
  await told("list-containers", client.containers({ state: "ready", template: "t", node: "n", sessionId: "s" }));
  await told("get-container", client.container("c"));
  await told("get-container-health", client.containerHealth("c"));
  await told("get-container-logs", client.containerLogs("c", { limit: 1000 }));
  await told("get-container-logs", client.followContainerLogs("c", { limit: 1000 }));
  const [nodes, pools, templates] = [new Nodes(client), new Pools(client), new Templates(client)];
  await told("list-nodes", nodes.list({ namePrefix: "n", healthy: true, draining: false }));
  await told("drain-node", nodes.drain("n", { grace: 60 }));
  await told("undrain-node", nodes.undrain("n"));
  await told("list-pools", pools.list({ templatePrefix: "t" }));
  await told("get-pool", pools.get("t"));
  await told("set-pool", pools.set("t", { min: 1, max: 2 }));
  await told("unset-pool", pools.unset("t"));
  await told("list-templates", templates.list({ namePrefix: "t", runtime: "python" }));
  await told("get-template", templates.get("t"));
  const lines = [];
  const onProgress = (text) => lines.push(text);
  await told("create-template", templates.create('template "t" {}', { onProgress }));
  await told("replace-template", templates.replace("t", { name: "t" }, { onProgress, ifMatch: '"a"', ifAbsent: true }));
  await told("push-templates", templates.push([{ name: "t" }], { extends: { t: "default" }, replace: true, onProgress }));
  await told("prepare-template", templates.prepare("t", { onProgress }));
  for (const name of ["create", "replace", "prepare"]) await told(`${name}-template`, lines);
  await told("push-templates", lines);
  await templates.delete("t");
}

async function accounts(client) {
  const [keys, tenants] = [new Keys(client), new Tenants(client)];
  await told("list-keys", keys.list({ tenant: "a" }));
  await told("create-key", keys.create(["files"], { tenant: "a", name: "n", expiresIn: 60 }));
  await told("revoke-key", keys.revoke("key_a"));
  await told("list-tenants", tenants.list());
  await told("get-usage", tenants.usage({ tenant: "a" }));
  await told("list-usage-samples", tenants.samples({ tenant: "a", sessionId: "s" }));
  await told("set-quotas", tenants.setQuotas("a", { sessions: 1, createsPerMinute: 2, cpu: 3, memory: "4Mi", disk: "5Mi", executions: 6, storage: "7Mi" }));
  await told("list-audit", new AuditLog(client).list({
    tenant: "a", action: "create-session", decision: "allowed", sessionId: "s", keyId: "k", subject: "u", requestId: "r", since: now, until: now, limit: 3,
  }));
}

async function sandbox(client) {
  const resources = { cpu: 1, memory: "64Mi", disk: "64Mi", disk_kind: "memory", io_weight: 100, pids: 64, ulimits: { nofile: 64, fsize: "1Mi", stack: "1Mi" } };
  const box = await Sandbox.create({
    template: "t", timeout: 60, idleTimeout: "1m", env: { A: "1" }, metadata: { a: "b" }, resources, files: { a: new Uint8Array([1]) }, agentId: "a", reuse: false,
    mode: "persistent", client,
  });
  await told("create-session", box.info);
  await told("get-session", (await Sandbox.connect(box.id, { client })).info);
  await told("list-sessions", Sandbox.list({
    metadata: { a: "b" }, template: "t", agentId: "a", state: "ready", idPrefix: "s", createdAfter: now, createdBefore: now, client,
  }));
  await Sandbox.list({ client });
  await told("pause-session", box.pause());
  await told("resume-session", box.resume());
  await told("set-session-timeout", box.setTimeout(60, { idleTimeout: 30 }));
  await told("get-session-metrics", box.metrics());
  await told("get-session-logs", box.logs({ limit: 1000 }));
  await told("get-session-logs", box.followLogs({ limit: 1000 }));
  await told("list-session-events", box.events());
  await told("list-session-events", box.followEvents({ after: 0 }));
  await told("create-token", box.createToken(["files"], { expiresIn: 60 }));
  return box;
}

async function executions(box) {
  const command = { timeout: 5, env: { A: "1" }, cwd: "/", stdin: "x", outputLimit: 1000, onDisconnect: "continue", stdinOpen: true, tty: { rows: 1, cols: 2 } };
  const code = { ...command, language: "python", context: "c", files: { a: "x" }, entry: "a", args: ["b"], dependencies: ["numpy"] };
  await told("execute", box.streamCode("1", code));
  const events = [];
  const onEvent = (event) => events.push(event);
  await told("execute", box.runCode("1", { ...code, onEvent, onResult: onEvent, onStdout: onEvent, onStderr: onEvent }));
  await told("execute", events);
  await told("execute", box.runCommand("ls", command));
  await told("execute", box.invoke("x", { a: 1 }, {
    handler: "h", command: ["c"], language: "python", context: { a: 1 }, timeout: 5, env: { A: "1" }, cwd: "/", files: { a: "x" }, dependencies: ["numpy"],
  }));
  await told("list-executions", box.executions({ state: "succeeded", kind: "code", language: "python", createdAfter: now, createdBefore: now }));
  await told("get-status", box.latest());
  await told("get-result", box.latestResult());
  const execution = box.execution("exe_a");
  await told("get-execution", execution.record());
  await execution.writeStdin("x", { eof: true });
  await execution.sendSignal("TERM");
  await execution.resize(1, 2);
  await execution.cancel();
  await told("watch-execution", execution);
  await box.pty("ls", { cwd: "/", rows: 1, cols: 2, executionId: "exe_a", after: 3 }).catch(() => undefined); // the test's server opens none
}

async function contexts(box) {
  await told("list-contexts", box.contexts.list({ language: "python" }));
  await told("complete-in-context", box.contexts.complete("p", { cursor: 1, name: "c", language: "python", timeout: 1 }));
  await told("inspect-in-context", box.contexts.inspect("p", { cursor: 1, detail: 1, name: "c", language: "python", timeout: 1 }));
  await box.contexts.restart("c", { language: "python" });
  await box.contexts.remove("c", { language: "python" });
  await told("list-processes", box.processes.list({ executionId: "exe_a" }));
  await box.processes.sendSignal(1, "TERM");
  await box.processes.kill(1);
}

async function files(box) {
  await told("put-file", box.files.write("a", "x", { append: true, mode: 0o600 }));
  await told("put-file", box.files.write("a", "x", { ifMatch: '"a"', ifAbsent: true }));
  await box.files.makeDir("d");
  await told("list-files", box.files.list("", { depth: 2 }));
  await told("list-files", box.files.stat("a"));
  await told("change-file", box.files.move("a", "b", { overwrite: true }));
  await told("change-file", box.files.chmod("a", "600"));
  await box.files.remove("a", { recursive: true });
  await box.files.readBytes("a", { offset: 1, length: 2 });
  await told("watch-files", box.files.watch("d", { recursive: true }));
  const dir = await mkdtemp(join(tmpdir(), "yurt-"));
  await box.files.pack("d", join(dir, "a.tar"));
  await told("archive-files", box.files.unpack(join(dir, "a.tar"), "d"));
  await rm(dir, { recursive: true });
}

const client = new Yurt();
await server(client);
await accounts(client);
const box = await sandbox(client);
for (const part of [executions, contexts, files]) await part(box);
await told("end-session", box.kill({ deleteResults: true }));
process.stdout.write(JSON.stringify(all));
