// Terminals of a sandbox.

import { unless, type Yurt } from "./client.js";
import { UnavailableError, YurtError, problemError } from "./errors.js";
import { platform, Refused, type Socket } from "./platform/platform.js";

const unreadLimit = 1 << 20; // unread bytes after which the connection pauses
const unreadMost = 64 << 20; // unread bytes after which a connection that cannot pause is closed

interface Message {
  type: string;
  execution_id?: string;
  exit_code?: number;
  error?: { type: string; message: string };
  gap?: { to: number };
}

/** A terminal. Read until undefined, which means that its program has ended: see exitCode. It has one reader at a time. */
export class Terminal implements AsyncIterable<Uint8Array> {
  executionId = "";
  exitCode: number | undefined;
  /** Number of the last event that was read, after which a terminal goes on whose connection broke. */
  last: number;
  #socket: Socket | undefined;
  #queue: (Uint8Array | Message)[] = [];
  #unread = 0;
  #paused = false;
  #closed = false;
  #wake: () => void = () => undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => {
    this.close();
    this.#wake();
  };

  private constructor(after: number | undefined, signal: AbortSignal | undefined) {
    this.last = after || 1; // event 1 says that the execution has started
    this.#signal = signal;
  }

  static async open(client: Yurt, path: string, after?: number, signal?: AbortSignal): Promise<Terminal> {
    signal?.throwIfAborted();
    const url = "ws" + (client.url + path).slice("http".length);
    const terminal = new Terminal(after, signal);
    const opening = platform().openSocket(url, client.authorization, (data) => terminal.#receive(data));
    try {
      terminal.#socket = await unless(signal, opening);
      signal?.addEventListener("abort", terminal.#abort);
    } catch (error) {
      if (signal?.aborted) {
        opening.then((socket) => socket.close(), () => undefined);
        throw signal.reason;
      }
      if (error instanceof YurtError) throw error;
      if (error instanceof Refused) throw problemError(error.status, error.body, error.retryAfter);
      throw new UnavailableError(`no terminal could be opened at ${client.url}: ${String(error)}`, { code: "unavailable", cause: error });
    }
    const first = await terminal.#next();
    terminal.executionId = first && !(first instanceof Uint8Array) ? (first.execution_id ?? "") : "";
    return terminal;
  }

  #receive(data: string | Uint8Array | undefined): void {
    if (data === undefined) {
      this.#closed = true;
      this.#signal?.removeEventListener("abort", this.#abort);
    } else if (typeof data === "string") {
      this.#queue.push(JSON.parse(data) as Message);
    } else {
      this.#queue.push(data);
      this.#unread += data.length;
    }
    if (this.#unread > unreadLimit && this.#socket?.pause && !this.#paused) {
      this.#paused = true;
      this.#socket.pause();
    }
    if (this.#unread > unreadMost) this.#socket?.close();
    this.#wake();
  }

  async #next(): Promise<Uint8Array | Message | undefined> {
    for (;;) {
      this.#signal?.throwIfAborted();
      if (this.#queue.length > 0) break;
      if (this.#closed) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const item = this.#queue.shift()!;
    if (item instanceof Uint8Array) this.#unread -= item.length;
    if (this.#paused && this.#unread <= unreadLimit) {
      this.#paused = false;
      this.#socket?.resume?.();
    }
    return item;
  }

  /** Returns the next output to show. After the terminal's signal has aborted, the terminal has hung up and this throws the reason. */
  async read(): Promise<Uint8Array | undefined> {
    while (this.exitCode === undefined) {
      const item = await this.#next();
      if (item instanceof Uint8Array) { // there is one for each event
        this.last++;
        return item;
      }
      if (item === undefined) {
        throw new UnavailableError(`the terminal broke off; execution ${this.executionId} goes on`, { code: "unavailable" });
      }
      if (item.gap) this.last = item.gap.to;
      if (item.type === "exited") this.exitCode = item.exit_code ?? 0;
      if (item.type === "failed") throw new YurtError(item.error?.message ?? "it failed", { code: item.error?.type ?? "internal" });
    }
    return undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (let shown; (shown = await this.read()) !== undefined; ) yield shown;
  }

  /** Writes to the terminal's input. */
  write(data: string | Uint8Array): void {
    this.#socket?.send(typeof data === "string" ? new TextEncoder().encode(data) : data);
  }

  /** Gives the terminal another size, in characters. */
  resize(rows: number, cols: number): void {
    this.#socket?.send(JSON.stringify({ type: "resize", rows, cols }));
  }

  /** Hangs up, which its programs notice. */
  close(): void {
    this.#socket?.close();
    if (this.#paused) this.#socket?.resume?.(); // for the answer to the close
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
