// Drives a session with the types that openapi-typescript has generated. The compiler checks that
// they fit what is asked of the API, and the program that the answers do.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const client = createClient<paths>({ baseUrl: process.argv[2] });

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(`unexpected: ${JSON.stringify(what)}`);
}

const created = await client.POST("/api/v1/sessions", { body: { timeout: "5m" } });
check(created.data !== undefined, created.error);
const session: components["schemas"]["Session"] = created.data;
check(session.state === "ready" && session.template_id === "default", session);
const params = { path: { id: session.id } };

const run = await client.POST("/api/v1/sessions/{id}/execute", { params, body: { code: "print(6 * 7)", language: "python" } });
check(run.data !== undefined && "stdout" in run.data, run.error);
check(run.data.stdout === "42\n" && run.data.error === null, run.data);

const failed = await client.POST("/api/v1/sessions/{id}/execute", { params, body: { code: "raise ValueError('no')" } });
check(failed.data !== undefined && "stdout" in failed.data, failed.error);
const error: components["schemas"]["ExecutionError"] | null = failed.data.error;
check(error?.type === "ValueError" && error.message === "no", failed.data);

const files = await client.GET("/api/v1/sessions/{id}/files", { params: { ...params, query: { depth: 2 } } });
check(Array.isArray(files.data?.files), files.error);

const ended = await client.DELETE("/api/v1/sessions/{id}", { params });
check(ended.data?.state === "terminated", ended.error);
const gone = await client.POST("/api/v1/sessions/{id}/execute", { params, body: { command: ["true"] } });
const problem: components["schemas"]["Problem"] | undefined = gone.error;
check(problem?.code === "session_ended", gone);
