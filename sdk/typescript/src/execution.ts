// An execution and the stream of its events.

import { type CallOptions, type Yurt, sleep } from "./client.js";
import { ConflictError, UnavailableError, YurtError } from "./errors.js";
import type { EventBody, ExecutionBody } from "./models.js";
import { Outage } from "./outage.js";
import { type Display, Event, Result } from "./results.js";
import { EventStream } from "./stream.js";
import { given, toBase64 } from "./wire.js";

/** Functions that are called during an execution. The SDK awaits a promise that one returns. */
export interface Callbacks {
  /** Output of the package manager, and the reasons for which the execution waits. */
  onProgress?: ((text: string) => unknown) | undefined;
  onStdout?: ((text: string) => unknown) | undefined;
  onStderr?: ((text: string) => unknown) | undefined;
  onResult?: ((display: Display) => unknown) | undefined;
  onEvent?: ((event: Event) => unknown) | undefined;
}

/**
 * A running execution. Iterate over it for its events; a connection that breaks is made again after the last one. It has one reader at a
 * time; the methods that control it may be called meanwhile.
 */
export class Execution implements AsyncIterableIterator<Event> {
  readonly id: string;
  /** Number of the last event. */
  last = 0;
  readonly #client: Yurt;
  readonly #path: string;
  readonly #signal: AbortSignal | undefined;
  #stream: EventStream | undefined;
  #ended: Result | undefined;
  #abandoned: Promise<void> | undefined;

  /** The signal cancels the execution. */
  constructor(client: Yurt, path: string, response?: Response, signal?: AbortSignal) {
    this.#client = client;
    this.#path = path;
    this.#signal = signal;
    this.id = path.slice(path.lastIndexOf("/") + 1);
    this.#stream = response && new EventStream(response);
    signal?.addEventListener("abort", this.#abort, { once: true });
    if (signal?.aborted) this.#abort();
  }

  readonly #abort = (): void => {
    void this.#abandon();
  };

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    const outage = new Outage();
    for (;;) {
      if (this.#abandoned) {
        await this.#abandoned;
        this.#signal?.throwIfAborted();
        return { done: true, value: undefined };
      }
      if (this.#ended) return { done: true, value: undefined };
      const body = await this.#receive(outage);
      if (body && body.seq > this.last) return { done: false, value: await this.#take(body) };
      if (body || this.#abandoned) continue;
      if (this.#stream) outage.broke();
      await this.leave();
      if (outage.over) {
        throw new UnavailableError(`the stream of execution ${this.id} broke off and could not be resumed; the execution goes on`, { code: "unavailable" });
      }
      await sleep(outage.pause(), this.#signal).catch(() => undefined); // the next round throws
    }
  }

  /** Returns the next event of the connection, or undefined if that broke or ended. Connects first if necessary. */
  async #receive(outage: Outage): Promise<EventBody | undefined> {
    let data: string | undefined;
    try {
      if (!this.#stream) {
        const headers = { accept: "text/event-stream", "last-event-id": String(this.last) };
        this.#stream = new EventStream(await this.#client.send("GET", this.#path + "/events", { headers }));
        outage.connected();
      }
      data = await this.#stream.next();
    } catch (error) {
      if (error instanceof YurtError && !(error instanceof UnavailableError)) throw error;
      return undefined;
    }
    return data === undefined ? undefined : (JSON.parse(data) as EventBody);
  }

  async #take(body: EventBody): Promise<Event> {
    this.last = body.seq;
    if (body.type !== "ended") return new Event(body, undefined);
    if (!body.result) throw new YurtError("the last event has no result", { code: "internal" });
    this.#ended = new Result(body.result, this.id);
    this.#signal?.removeEventListener("abort", this.#abort);
    await this.#stream?.next().catch(() => undefined); // its end, so that the connection can be used again
    await this.leave();
    return new Event(body, this.#ended);
  }

  /** Runs when code leaves a loop early: the execution continues, and the iteration can be resumed. */
  async return(): Promise<IteratorResult<Event, undefined>> {
    await this.leave();
    return { done: true, value: undefined };
  }

  /** Waits for the end and returns the result. If a callback throws, the execution is cancelled. */
  async result(callbacks: Callbacks = {}): Promise<Result> {
    try {
      for (let step; !(step = await this.next()).done; ) await tell(step.value, callbacks);
    } catch (error) {
      if (!(error instanceof YurtError) && !this.#abandoned) await this.#abandon();
      throw error;
    }
    if (!this.#ended) throw new YurtError(`execution ${this.id} was left before its end`, { code: "canceled" });
    return this.#ended;
  }

  #abandon(): Promise<void> {
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#abandoned ??= this.#client.send("DELETE", this.#path).then(
      () => this.leave(),
      () => this.leave(), // it has ended, or the server has gone: the reason for leaving matters more
    );
    return this.#abandoned;
  }

  /** Interrupts the execution, kills it after five seconds if it still runs, and waits for its end. */
  async cancel(options: CallOptions = {}): Promise<void> {
    try {
      await this.#client.send("DELETE", this.#path, options);
    } catch (error) {
      if (!(error instanceof ConflictError && error.code === "execution_ended")) throw error;
    }
  }

  /** Gives an execution that was started with stdinOpen data to read, and with eof the end of its input. Text is sent in UTF-8. */
  async writeStdin(data: string | Uint8Array, options: CallOptions & { eof?: boolean } = {}): Promise<void> {
    const raw = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const json = given({ data_base64: raw.length ? toBase64(raw) : undefined, eof: options.eof });
    await this.#client.send("POST", this.#path + "/stdin", { json, signal: options.signal });
  }

  /** Sends a signal, such as "INT" or 2, to the first process of the execution and its group. KILL ends all of its processes. */
  async sendSignal(signal: string | number, options: CallOptions = {}): Promise<void> {
    await this.#client.send("POST", this.#path + "/signal", { json: { signal }, ...options });
  }

  /** Gives the terminal of the execution another size, in characters. */
  async resize(rows: number, cols: number, options: CallOptions = {}): Promise<void> {
    await this.#client.send("POST", this.#path + "/resize", { json: { rows, cols }, ...options });
  }

  /** Returns its state, and its result if it has ended. */
  record(options: CallOptions = {}): Promise<ExecutionBody> {
    return this.#client.call("GET", this.#path, options);
  }

  /** Closes the stream; the execution continues. */
  async leave(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close();
  }

  /** Cancels the execution if it has not ended: `await using` calls it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) await this.#abandon();
  }
}

async function tell(event: Event, to: Callbacks): Promise<void> {
  await to.onEvent?.(event);
  if (event.type === "progress") await to.onProgress?.(event.text);
  else if (event.type === "stdout") await to.onStdout?.(event.text);
  else if (event.type === "stderr") await to.onStderr?.(event.text);
  else if (event.type === "display" && to.onResult && event.display) await to.onResult(event.display);
}
