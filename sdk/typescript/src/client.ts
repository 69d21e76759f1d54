// The connection to one server.

import { InvalidArgumentError, OverloadedError, UnavailableError, YurtError, problemError } from "./errors.js";
import type { Container, ContainerHealth, LogBody, LogList, RuntimeInfo, Status, Version } from "./models.js";
import { platform, type LocalServer } from "./platform/platform.js";
import { LogEntry } from "./results.js";
import { EventStream } from "./stream.js";
import { API, type Query, authorization, encode, newKey, queryOf, segment } from "./wire.js";

const slowest = 2_000; // milliseconds between two tries
// The codes of a removal that finds no object.
const gone = ["not_found", "file_not_found", "template_not_found", "context_not_found", "session_ended", "execution_ended"];
const idempotent = ["GET", "PUT", "DELETE"]; // methods whose requests a server may see twice

/** Options of every call: a signal that interrupts it. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** The size of a log: how many bytes of past output, at most. Default 65,536. */
export interface LogsOptions extends CallOptions {
  limit?: number;
}

/** Filters of the list of containers. A container must match all of them. */
export interface ContainersOptions extends CallOptions {
  state?: "ready" | "paused" | "dead";
  template?: string;
  node?: string;
  sessionId?: string;
}

export interface ClientOptions {
  /** Default: YURT_SERVER, then http://127.0.0.1:8700; in a browser the page's origin. */
  url?: string | undefined;
  /** Default: YURT_API_KEY; in a browser, no key. */
  apiKey?: string | undefined;
  /** For how many seconds a call that may be repeated is sent again. Default 10. */
  patience?: number | undefined;
  /** In place of the global fetch. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface Request extends CallOptions {
  /** Sent as JSON. */
  json?: object | undefined;
  body?: BodyInit | undefined;
  headers?: Record<string, string> | undefined;
  /** Send it again if its answer is lost: it changes nothing, or the same when it is repeated. The default for a DELETE, see YurtError.removed. */
  repeat?: boolean | undefined;
  /** The server must not get it twice. */
  once?: boolean | undefined;
}

/** A client of one server. Sandboxes make their own; several of them may share one. Its calls may be made at the same time. */
export class Yurt {
  readonly url: string;
  readonly patience: number;
  /** The header with the API key, if the client has one. */
  readonly authorization: Readonly<Record<string, string>>;
  readonly #fetch: typeof globalThis.fetch;
  #local: LocalServer | undefined;

  constructor(options: ClientOptions = {}) {
    this.url = String(options.url ?? platform().address()).replace(/\/+$/, "");
    this.patience = options.patience ?? 10;
    this.authorization = authorization(options.apiKey ?? platform().apiKey());
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    if (!/^https?:\/\/[^/]/.test(this.url) || !URL.canParse(this.url)) {
      const allowed = "give one such as http://127.0.0.1:8700";
      throw new InvalidArgumentError(`${JSON.stringify(this.url)} is no address of a server; ${allowed}`, { code: "invalid_argument", field: "url" });
    }
  }

  /** Starts `yurt dev` and returns its client, whose close ends it. */
  static async local({ signal, ...options }: Omit<ClientOptions, "url"> & CallOptions = {}): Promise<Yurt> {
    signal?.throwIfAborted();
    const starting = platform().startLocal();
    const server = await unless(signal, starting).catch((reason: unknown) => {
      void starting.then((begun) => begun.stop(), () => undefined);
      throw reason;
    });
    const client = new Yurt({ ...options, url: server.url });
    client.#local = server;
    return client;
  }

  /** Ends the server if `local` started it. */
  async close(): Promise<void> {
    await this.#local?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Sends a request and returns the response of a success. One that may be repeated is, until patience ends, and not before the time
   * that the server names by Retry-After. A POST may be, since it has a key by which the server carries it out once; `repeat` is for one
   * that changes nothing and needs no key.
   */
  send(method: string, path: string, request: Request = {}): Promise<Response> {
    return this.#deliver(method, path, request, async (response) => response);
  }

  /** As send. take reads the answer; one that breaks off meanwhile is lost. */
  async #deliver<T>(method: string, path: string, request: Request, take: (response: Response) => Promise<T>): Promise<T> {
    const body = request.json ? encode(request.json) : request.body;
    const headers: Record<string, string> = { ...(request.json && { "content-type": "application/json" }), ...this.authorization, ...request.headers };
    const once: RequestInit & { duplex?: string } = { method, body: body ?? null, headers, signal: request.signal ?? null };
    const streams = body instanceof ReadableStream;
    // If redirects were allowed, Node would keep the whole body to send it again.
    if (streams) Object.assign(once, { duplex: "half", redirect: "error" });
    const keyed = method === "POST" && (body === undefined || typeof body === "string") && !request.repeat; // a Blob may be too large for it
    if (keyed) headers["idempotency-key"] = newKey();
    const repeat = request.repeat ?? (method === "DELETE" && !request.once);
    let end = 0;
    let lost = false;
    for (let pause = 50, wait = 0; ; pause = Math.min(2 * pause, slowest)) {
      try {
        return await this.#once(path, once, take);
      } catch (error) {
        end ||= Date.now() + this.patience * 1000;
        if (!(error instanceof UnavailableError || error instanceof OverloadedError)) {
          if (error instanceof YurtError) error.removed = lost && method === "DELETE" && gone.includes(error.code);
          throw error;
        }
        lost ||= error instanceof UnavailableError && error.retryAfter === undefined && !neverSent(error);
        const refused = error.retryAfter !== undefined && idempotent.includes(method) && !request.once;
        const again = !streams && (keyed || repeat || refused || neverSent(error));
        wait = Math.max(pause, (error.retryAfter ?? 0) * 1000) * (1 + Math.random() / 5); // lest all that were refused come back at once
        if (!again || Date.now() + wait > end) throw error;
      }
      await sleep(wait, request.signal);
    }
  }

  async #once<T>(path: string, request: RequestInit, take: (response: Response) => Promise<T>): Promise<T> {
    let advice = 'is "yurt dev" running there?';
    try {
      const response = await this.#fetch(this.url + path, request);
      if (!response.ok) throw problemError(response.status, await response.text(), response.headers.get("retry-after"));
      advice = "the answer broke off; try again";
      return await take(response);
    } catch (error) {
      throw this.broken(error, request.signal ?? undefined, advice);
    }
  }

  /** Turns the error of a broken connection into a YurtError, and returns other errors unchanged. */
  broken(error: unknown, signal: AbortSignal | undefined, advice: string): unknown {
    if (signal?.aborted) return signal.reason;
    if (error instanceof YurtError) return error;
    const cause = error instanceof Error ? error.cause : undefined;
    const why = cause instanceof Error ? cause.message || codeOf(cause) : String(error);
    return new UnavailableError(`no answer from ${this.url} (${why}); ${advice}`, { code: "unavailable", cause: error });
  }

  /** Sends a request and returns its answer. A GET, a PUT or a DELETE may be repeated. */
  async call<T>(method: string, path: string, request: Request = {}): Promise<T> {
    const repeat = method === "GET" || (idempotent.includes(method) && !request.once);
    const text = await this.#deliver(method, path, { repeat, ...request }, (response) => unless(request.signal, response.text()));
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new YurtError(`the answer of ${this.url} is not one of Yurt: ${String(error)}`, { code: "internal", cause: error });
    }
  }

  /** Removes an object. The object may be gone if the answer to an earlier request was lost. */
  async remove(path: string, options: CallOptions = {}): Promise<void> {
    try {
      await this.send("DELETE", path, options);
    } catch (error) {
      if (!(error instanceof YurtError && error.removed)) throw error;
    }
  }

  /** Yields the pages of a list. */
  async *pages<T extends { next_cursor: string }>(path: string, query: Query, options: CallOptions = {}): AsyncGenerator<T, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.call<T>("GET", path + queryOf({ ...query, cursor }), { signal: options.signal });
      yield page;
      if (!(cursor = page.next_cursor)) return;
    }
  }

  /** Returns the entries of all pages of a list. member is the list's name in a page. */
  async whole<T>(path: string, member: string, query: Query = {}, options: CallOptions = {}): Promise<T[]> {
    const found: T[] = [];
    for await (const page of this.pages<{ next_cursor: string } & Record<string, unknown>>(path, query, options)) {
      found.push(...((page[member] as T[] | null) ?? []));
    }
    return found;
  }

  /** Returns the server's build. */
  version(options: CallOptions = {}): Promise<Version> {
    return this.call("GET", "/version", options);
  }

  /** Checks that the server's process runs, though it may not be ready to serve. It does not retry. */
  health(options: CallOptions = {}): Promise<Status> {
    return this.call("GET", "/health", { ...options, repeat: false, once: true });
  }

  /** Checks that the server is ready to serve, and else throws an UnavailableError. It does not retry. */
  ready(options: CallOptions = {}): Promise<Status> {
    return this.call("GET", "/ready", { ...options, repeat: false, once: true });
  }

  /** Lists the installed language runtimes, or the one of a language. */
  async runtimes({ language, ...options }: CallOptions & { language?: string } = {}): Promise<RuntimeInfo[]> {
    return this.whole<RuntimeInfo>(API + "/runtimes", "runtimes", { language }, options);
  }

  /** Lists the containers that match, with and without a session, oldest first: warm ones have no session yet. */
  async containers({ state, template, node, sessionId, ...options }: ContainersOptions = {}): Promise<Container[]> {
    return this.whole<Container>(API + "/containers", "containers", { state, template, node, session_id: sessionId }, options);
  }

  /** Returns a container by its own id, not by the id of its session. */
  async container(id: string, options: CallOptions = {}): Promise<Container> {
    return this.call("GET", `${API}/containers/${segment(id)}`, options);
  }

  /** Tells whether a sandbox works, and its use of its limits. */
  async containerHealth(id: string, options: CallOptions = {}): Promise<ContainerHealth> {
    return this.call("GET", `${API}/containers/${segment(id)}/health`, options);
  }

  /** Returns the last `limit` bytes of the output of executions in a sandbox, the newest last, and whether there was more. */
  async containerLogs(id: string, options: LogsOptions = {}): Promise<LogEntry[] & { truncated: boolean }> {
    return this.logOf(`${API}/containers/${segment(id)}`, options);
  }

  /** Yields the entries of containerLogs and then new output of executions, until the sandbox has ended. */
  followContainerLogs(id: string, options: LogsOptions = {}): AsyncGenerator<LogEntry, void, undefined> {
    return this.followLogOf(`${API}/containers/${segment(id)}`, options);
  }

  /** Returns the log below a path. */
  async logOf(path: string, { limit = 65536, signal }: LogsOptions): Promise<LogEntry[] & { truncated: boolean }> {
    const { logs, truncated } = await this.call<LogList>("GET", `${path}/logs${queryOf({ limit })}`, { signal });
    return Object.assign((logs ?? []).map((entry) => new LogEntry(entry)), { truncated });
  }

  /** Follows the log below a path. */
  async *followLogOf(path: string, { limit = 65536, signal }: LogsOptions): AsyncGenerator<LogEntry, void, undefined> {
    for await (const entry of this.events<LogBody>("GET", `${path}/logs${queryOf({ limit, follow: true })}`, { signal })) {
      if (entry.type === "ended") return;
      yield new LogEntry(entry);
    }
  }

  /** Yields each event of a stream. */
  async *events<T>(method: string, path: string, request: Request = {}): AsyncGenerator<T, void, undefined> {
    const headers = { accept: "text/event-stream", ...request.headers };
    const { signal } = request;
    const stream = new EventStream(await this.send(method, path, { repeat: method === "GET", ...request, headers }), signal);
    try {
      for (let data; (data = await stream.next()) !== undefined; ) yield JSON.parse(data) as T;
      signal?.throwIfAborted();
    } catch (error) {
      throw this.broken(error, signal, "the stream broke off; follow it again");
    } finally {
      await stream.close();
    }
  }
}

const codeOf = (error: object): string => ("code" in error ? String(error.code) : "");

/** Reports whether the server cannot have seen the request. */
function neverSent(error: unknown): boolean {
  const cause = error instanceof UnavailableError && error.cause instanceof Error ? error.cause.cause : undefined;
  return cause instanceof Error && ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(codeOf(cause));
}

/** Waits for a promise unless the signal aborts, and then throws its reason. */
export async function unless<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  if (!signal) return promise;
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
