// Sandboxes.

import { type CallOptions, type ClientOptions, type LogsOptions, Yurt, unless } from "./client.js";
import { ConflictError, NotFoundError, YurtError } from "./errors.js";
import { type Callbacks, Execution } from "./execution.js";
import { Files } from "./files.js";
import { follow } from "./follow.js";
import type {
  CreatedKey, ExecutionBody, ExecutionSummary, ResourcesBody, ResultBody, SandboxStats, Session, SessionEvent, SessionList, Transition,
} from "./models.js";
import { Contexts, Processes } from "./parts.js";
import { type LogEntry, Result } from "./results.js";
import { Terminal } from "./terminal.js";
import { API, type FileMap, filesOf, given, instant, plainObject, queryOf, segment } from "./wire.js";

/** Seconds, or text such as "1h30m". */
export type Duration = number | string;

/** The server to use: a client, or options for a new one. */
export interface Place extends ClientOptions, CallOptions {
  client?: Yurt;
}

export interface CreateOptions extends Place {
  template?: string;
  /** Its lifetime. */
  timeout?: Duration;
  /** The time without use after which it ends. */
  idleTimeout?: Duration;
  env?: Record<string, string>;
  metadata?: Record<string, string>;
  /** Bounds, such as `{ cpu: 0.5, memory: "512Mi", disk: "1Gi" }`, in cores and bytes. */
  resources?: ResourcesBody;
  /** Files that are in its workspace before it is ready. */
  files?: FileMap;
  agentId?: string;
  /** Take the agent's live sandbox, if it has one of this kind. */
  reuse?: boolean;
  /** Default: persistent. An ephemeral sandbox ends after its first execution. */
  mode?: "ephemeral" | "persistent";
  /** Start `yurt dev` for the sandbox, and end it with the sandbox. */
  local?: boolean;
}

export interface ListOptions extends Place {
  metadata?: Record<string, string>;
  template?: string;
  agentId?: string;
  state?: Session["state"];
  /** The beginning of its id, such as ses_4q7k. */
  idPrefix?: string;
  /** Created at that time or later. */
  createdAfter?: Date;
  createdBefore?: Date;
  /** List sandboxes that have ended, too. Not needed together with a state. */
  ended?: boolean;
}

/** Filters of the list of executions. An execution must match all of them. */
export interface ExecutionsOptions extends CallOptions {
  state?: ExecutionSummary["state"];
  kind?: ExecutionSummary["kind"];
  language?: string;
  /** Started at that time or later. */
  createdAfter?: Date;
  createdBefore?: Date;
}

/** The fate of an execution if the connection of its call ends first, for example with this program. Default: continue. */
export type OnDisconnect = "continue" | "interrupt";

/** Options of both commands and code. Aborting the signal cancels the execution. */
export interface RunOptions extends CallOptions {
  /** After which the execution is ended; its result says so. */
  timeout?: Duration;
  env?: Record<string, string>;
  /** Relative to /workspace. */
  cwd?: string;
  stdin?: string;
  /** Keep standard input open for Execution.writeStdin. */
  stdinOpen?: boolean;
  /** Its input and output are a terminal of this size. */
  tty?: { rows: number; cols: number };
  /** Of each stream, in bytes or as text such as "1Mi". */
  outputLimit?: number | string;
  onDisconnect?: OnDisconnect;
}

export interface CodeOptions extends RunOptions {
  language?: string;
  /** Name of the context whose variables the code uses; "" means a fresh interpreter. */
  context?: string;
  /** Files that are written to the working directory first. They stay there. */
  files?: FileMap;
  /** File to run instead of code. */
  entry?: string;
  args?: string[];
  /** Packages to install first. */
  dependencies?: string[];
}

export interface InvokeOptions extends CallOptions, Pick<Callbacks, "onProgress" | "onStdout" | "onStderr"> {
  /** Name of the function in the code. Default: handler. */
  handler?: string;
  /** Instead of code: a Lambda runtime client that serves the handler; it is kept for the next call. */
  command?: string | string[];
  language?: string;
  /** Fields that override the handler's context. */
  context?: Record<string, unknown>;
  timeout?: Duration;
  env?: Record<string, string>;
  cwd?: string;
  files?: FileMap;
  dependencies?: string[];
  onDisconnect?: OnDisconnect;
}

export interface TerminalOptions extends CallOptions {
  cwd?: string;
  /** Default: 24. */
  rows?: number;
  /** Default: 80. */
  cols?: number;
  /** Of a terminal that was opened before: it is opened again, in place of starting something. */
  executionId?: string;
  /** Number of the last event that was read of it, see Terminal.last. Default: show all of its output. */
  after?: number;
}

/**
 * A sandbox. `await using` ends one that was created, and only leaves one that was connected to. Its calls may be made at the same time.
 * Errors are instances of YurtError; that code in the sandbox fails is none, see Result.
 */
export class Sandbox {
  readonly id: string;
  /** Its last known state. */
  info: Session;
  readonly files: Files;
  readonly contexts: Contexts;
  readonly processes: Processes;
  readonly client: Yurt;
  readonly #owned: boolean; // this object created it
  readonly #shared: boolean; // the client is the caller's
  readonly #path: string;

  private constructor(client: Yurt, info: Session, owned: boolean, shared: boolean) {
    this.client = client;
    this.#owned = owned;
    this.#shared = shared;
    this.#path = `${API}/sessions/${segment(info.id)}`;
    this.id = info.id;
    this.info = info;
    this.files = new Files(client, this.#path);
    this.contexts = new Contexts(client, this.#path);
    this.processes = new Processes(client, this.#path);
  }

  /** Makes a sandbox of a template, and returns it once it is ready. Throws OverloadedError when the server is full, or a quota used up. */
  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    plainObject(options, "options", "options");
    const { template, timeout, idleTimeout, env, metadata, resources, files, agentId, reuse, mode, signal } = options;
    const json = given({
      template_id: template, timeout, idle_timeout: idleTimeout, env, metadata, resources, files: filesOf(files), agent_id: agentId, reuse, mode,
    });
    const client = options.client ?? (options.local ? await Yurt.local(options) : new Yurt(options));
    try {
      const info = await client.call<Session>("POST", API + "/sessions", { json, signal });
      return new Sandbox(client, info, true, options.client !== undefined);
    } catch (error) {
      if (!options.client) await client.close();
      throw error;
    }
  }

  /** Returns the sandbox of that id. It goes on when this object is closed. */
  static async connect(id: string, options: Place = {}): Promise<Sandbox> {
    const client = options.client ?? new Yurt(options);
    const info = await client.call<Session>("GET", `${API}/sessions/${segment(id)}`, { signal: options.signal });
    return new Sandbox(client, info, false, options.client !== undefined);
  }

  /** Lists the sandboxes that match, newest first. Without a state it lists those that have not ended; ended adds those that have. */
  static async list(options: ListOptions = {}): Promise<Session[]> {
    const { metadata = {}, template, agentId, state, idPrefix, createdAfter, createdBefore, ended, signal } = options;
    const client = options.client ?? new Yurt(options);
    plainObject(metadata, "metadata", "texts");
    const filter = {
      ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`metadata[${name}]`, value])),
      template_id: template, agent_id: agentId, state, id_prefix: idPrefix, live: ended || state ? undefined : true,
      created_after: instant("createdAfter", createdAfter), created_before: instant("createdBefore", createdBefore),
    };
    const found: Session[] = [];
    for await (const page of client.pages<SessionList>(`${API}/sessions`, filter, { signal })) found.push(...(page.sessions ?? []));
    return found;
  }

  async #start(body: object, signal: AbortSignal | undefined): Promise<Execution> {
    signal?.throwIfAborted();
    const headers = { accept: "text/event-stream" };
    // The signal does not abort this request: the SDK must learn the id of an execution that begins, to cancel it.
    const starting = this.client.send("POST", this.#path + "/execute", { json: { ...body, stream: true }, headers }).then(async (response) => {
      const id = response.headers.get("location")?.split("/").pop();
      if (id) return new Execution(this.client, `${this.#path}/executions/${segment(id)}`, response, signal);
      await response.body?.cancel();
      throw new YurtError("the server did not name the execution", { code: "internal" });
    });
    return unless(signal, starting);
  }

  /** Starts code and returns its execution, an iterator of events. */
  async streamCode(code?: string, options: CodeOptions = {}): Promise<Execution> {
    plainObject(options, "options", "options, such as { language: \"python\" }");
    const { language, context, files, entry, args, dependencies, signal } = options;
    const body = given({ ...runBody(options), code, language, context, files: filesOf(files), entry, args, dependencies });
    return this.#start({ ...body, handler: null }, signal); // run code that only defines a handler without calling it
  }

  /** Runs code and returns its result. Variables last from one run to the next in the same context. */
  async runCode(code?: string, options: CodeOptions & Callbacks = {}): Promise<Result> {
    return (await this.streamCode(code, options)).result(options);
  }

  /** Starts a shell command line, or a program with its arguments, and returns its execution. */
  async streamCommand(command: string | string[], options: RunOptions = {}): Promise<Execution> {
    return this.#start(given({ ...runBody(options), command }), options.signal);
  }

  /** Runs a shell command line, or a program with its arguments, and returns its result. */
  async runCommand(command: string | string[], options: RunOptions & Callbacks = {}): Promise<Result> {
    return (await this.streamCommand(command, options)).result(options);
  }

  /** Calls a function of the code with the event, as AWS Lambda does. The result's value is its return value. */
  async invoke(code: string | undefined, event: unknown = null, options: InvokeOptions = {}): Promise<Result> {
    plainObject(options, "options", "options, such as { language: \"python\" }");
    const { handler = "handler", command, language, context, timeout, env, cwd, files, dependencies, onDisconnect, signal } = options;
    const body = given({
      code, handler, command, language, context, timeout, env, cwd, files: filesOf(files), dependencies, on_disconnect: onDisconnect,
    });
    return (await this.#start({ ...body, event }, signal)).result(options);
  }

  /** Returns an earlier execution. Iterating over it yields its events from the first. */
  execution(id: string): Execution {
    return new Execution(this.client, `${this.#path}/executions/${segment(id)}`);
  }

  /** Opens a terminal on the shell, on a line for it, or again on one that was opened before, by its execution's id. */
  pty(command?: string, options: TerminalOptions = {}): Promise<Terminal> {
    const { cwd, rows = 24, cols = 80, executionId, after, signal } = options;
    const query = queryOf({ command, cwd, rows, cols, execution_id: executionId, after });
    return Terminal.open(this.client, `${this.#path}/pty${query}`, after, signal);
  }

  /** Returns the last `limit` bytes of the output of executions, the newest last, and whether there was more. */
  async logs(options: LogsOptions = {}): Promise<LogEntry[] & { truncated: boolean }> {
    return this.client.logOf(this.#path, options);
  }

  /** Yields the entries of logs and then new output of executions, until the sandbox has ended. */
  followLogs(options: LogsOptions = {}): AsyncGenerator<LogEntry, void, undefined> {
    return this.client.followLogOf(this.#path, options);
  }

  /** Lists the executions in the sandbox that match, newest first, without results; execution(id) has the result. */
  async executions({ state, kind, language, createdAfter, createdBefore, ...options }: ExecutionsOptions = {}): Promise<ExecutionSummary[]> {
    const filter = {
      state, kind, language, created_after: instant("createdAfter", createdAfter), created_before: instant("createdBefore", createdBefore),
    };
    return this.client.whole<ExecutionSummary>(this.#path + "/executions", "executions", filter, options);
  }

  /** Returns the latest execution, with its result if it has ended. */
  latest(options: CallOptions = {}): Promise<ExecutionBody> {
    return this.client.call("GET", this.#path + "/status", options);
  }

  /** Returns the result of the latest execution. While it runs, the call fails with the code execution_running. */
  async latestResult(options: CallOptions = {}): Promise<Result> {
    const ended = await this.client.call<ResultBody & { execution_id: string }>("GET", this.#path + "/result", options);
    return new Result(ended, ended.execution_id);
  }

  /** Lists the changes of the sandbox's state, oldest first. */
  async events(options: CallOptions = {}): Promise<Transition[]> {
    return this.client.whole<Transition>(this.#path + "/events", "events", {}, options);
  }

  /**
   * Yields the changes of the sandbox's state after a number, and then new ones, until the sandbox has ended. If the connection
   * breaks, a new one continues after the last change.
   */
  async *followEvents({ after = 0, signal }: CallOptions & { after?: number } = {}): AsyncGenerator<SessionEvent, void, undefined> {
    for await (const event of follow<SessionEvent>(this.client, this.#path + "/events", after, signal)) {
      yield event;
      if (event.to === "terminated" || event.to === "failed") return;
    }
  }

  /**
   * Creates a token for a browser or an agent, which sends it as an API key. It gives access only to this sandbox. It expires with the
   * sandbox and with the client's key. That key must have the scopes, and must not be an administrator's.
   */
  createToken(scopes: string[], { expiresIn, signal }: CallOptions & { expiresIn?: Duration } = {}): Promise<CreatedKey> {
    return this.client.call("POST", this.#path + "/tokens", { json: given({ scopes, expires_in: expiresIn }), signal });
  }

  /** Says how much processor time, memory, disk and network the sandbox uses. */
  metrics(options: CallOptions = {}): Promise<SandboxStats> {
    return this.client.call("GET", this.#path + "/metrics", options);
  }

  async #change(method: string, verb: string, options: CallOptions, json?: object): Promise<Session> {
    this.info = await this.client.call<Session>(method, this.#path + verb, { json, signal: options.signal });
    return this.info;
  }

  /** Asks for the state of the sandbox, and returns it. */
  refresh(options: CallOptions = {}): Promise<Session> {
    return this.#change("GET", "", options);
  }

  /** Stops all processes in the sandbox and keeps their memory. */
  pause(options: CallOptions = {}): Promise<Session> {
    return this.#change("POST", "/pause", options);
  }

  /** Lets a paused sandbox go on. */
  resume(options: CallOptions = {}): Promise<Session> {
    return this.#change("POST", "/resume", options);
  }

  /** Gives the sandbox another lifetime, since its creation, and another idle timeout. One that is left out stays. */
  async setTimeout(timeout?: Duration, options: CallOptions & { idleTimeout?: Duration } = {}): Promise<Session> {
    return this.#change("POST", "/timeout", options, given({ timeout, idle_timeout: options.idleTimeout }));
  }

  /**
   * Ends the sandbox, and the server that was started for it. If the sandbox has ended already, the call fails with the code
   * session_ended. `deleteResults` removes its executions and their results at once, also for a sandbox that has ended.
   */
  async kill(options: CallOptions & { deleteResults?: boolean } = {}): Promise<Session> {
    try {
      return await this.#change("DELETE", queryOf({ results: options.deleteResults ? "delete" : undefined }), options);
    } catch (error) {
      if (!(error instanceof ConflictError && error.removed)) throw error;
      return await this.refresh(options);
    } finally {
      await this.close();
    }
  }

  /** Disconnects. The sandbox continues, unless its server was started for it. */
  async close(): Promise<void> {
    if (!this.#shared) await this.client.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#owned) await this.kill();
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error; // these mean that it has ended already
    } finally {
      await this.close();
    }
  }
}

function runBody({ timeout, env, cwd, stdin, stdinOpen, tty, outputLimit, onDisconnect }: RunOptions): object {
  return { timeout, env, cwd, stdin, stdin_open: stdinOpen, tty, output_limit: outputLimit, on_disconnect: onDisconnect };
}
