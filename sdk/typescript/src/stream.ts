// Server-sent events of one connection.

import { UnavailableError } from "./errors.js";

const maxEvent = 256 << 20; // characters; the last event of a stream carries the whole result
const quiet = 45_000; // milliseconds without a heartbeat, which comes every 15 seconds, after which a connection is dead

/** Reads the data of the events of a response. */
export class EventStream {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #watch: ReturnType<typeof setInterval>;
  readonly #signal: AbortSignal | undefined;
  #heard = Date.now();
  #buffer = "";
  #searched = 0;

  /** The signal ends the stream like the end of the connection: Node 20 loses fetch's own signal once the request is collected. */
  constructor(response: Response, signal?: AbortSignal) {
    this.#reader = response.body!.getReader();
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abort, { once: true });
    this.#watch = setInterval(() => {
      if (Date.now() - this.#heard > quiet) void this.close();
    }, quiet / 3);
  }

  readonly #abort = (): void => {
    void this.close();
  };

  /** Returns the data of the next event, or undefined at the end of the connection. A broken connection throws. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const data = this.#take();
      if (data) return data; // a heartbeat has no data
      if (data === undefined && !(await this.#fill())) return undefined;
    }
  }

  /** Returns the data of the first complete event. */
  #take(): string | undefined {
    const end = this.#buffer.indexOf("\n\n", this.#searched);
    if (end < 0) {
      this.#searched = Math.max(0, this.#buffer.length - 1);
      return undefined;
    }
    const block = this.#buffer.slice(0, end);
    this.#buffer = this.#buffer.slice(end + 2);
    this.#searched = 0;
    return block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(line[5] === " " ? 6 : 5)).join("");
  }

  async #fill(): Promise<boolean> {
    if (this.#buffer.length > maxEvent) {
      await this.close();
      throw new UnavailableError(`the server sent an event of more than ${maxEvent >> 20} MiB`, { code: "unavailable" });
    }
    const { done, value } = await this.#reader.read();
    this.#heard = Date.now();
    if (done) {
      this.#release();
      return false;
    }
    this.#buffer += this.#decoder.decode(value, { stream: true });
    return true;
  }

  #release(): void {
    clearInterval(this.#watch);
    this.#signal?.removeEventListener("abort", this.#abort);
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.#release();
    await this.#reader.cancel().catch(() => undefined); // it has broken already
  }
}
