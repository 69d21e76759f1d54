// The results and events of executions.

import { CodeFailedError } from "./errors.js";
import type { Artifact, EventBody, ExecutionError, Gap, LogBody, Metrics, ResultBody, Truncated } from "./models.js";
import { fromBase64 } from "./wire.js";

const tableType = "application/vnd.dataresource+json";

export type Row = Record<string, unknown>;

/** A value that code showed: `data` has its representations by MIME type. */
export class Display {
  constructor(
    readonly data: Record<string, unknown>,
    /** Whether it is the value of the last expression. */
    readonly main: boolean = false,
  ) {}

  #text(mime: string): string | undefined {
    const value = this.data[mime];
    return value === undefined || typeof value === "string" ? value : JSON.stringify(value);
  }

  #bytes(mime: string): Uint8Array | undefined {
    const value = this.data[mime];
    return typeof value === "string" ? fromBase64(value) : undefined;
  }

  get text(): string | undefined {
    return this.#text("text/plain");
  }

  get html(): string | undefined {
    return this.#text("text/html");
  }

  get svg(): string | undefined {
    return this.#text("image/svg+xml");
  }

  get png(): Uint8Array | undefined {
    return this.#bytes("image/png");
  }

  get jpeg(): Uint8Array | undefined {
    return this.#bytes("image/jpeg");
  }

  /** The rows of a table, such as a DataFrame. */
  get rows(): Row[] | undefined {
    return (this.data[tableType] as { data?: Row[] } | undefined)?.data;
  }
}

/** The result of an execution. A notebook of Deno shows it as if the code had run there. */
export class Result {
  constructor(
    /** As the REST API has it. */
    readonly body: ResultBody,
    readonly executionId: string,
  ) {}

  get ok(): boolean {
    return this.error === undefined && this.exitCode === 0;
  }

  get stdout(): string {
    return this.body.stdout;
  }

  get stderr(): string {
    return this.body.stderr;
  }

  get exitCode(): number {
    return this.body.exit_code;
  }

  /** Why the code failed. */
  get error(): ExecutionError | undefined {
    return this.body.error ?? undefined;
  }

  /** The return value of a handler, or the value of the last expression; null if JSON cannot hold it exactly. */
  get value(): unknown {
    return this.body.result;
  }

  get displays(): Display[] {
    return (this.body.results ?? []).map((data, i) => new Display(data, i === this.body.main_result));
  }

  get artifacts(): Artifact[] {
    return this.body.artifacts ?? [];
  }

  get metrics(): Metrics {
    return this.body.metrics;
  }

  /** The streams whose output was cut off at its limit. */
  get truncated(): Truncated {
    return this.body.truncated;
  }

  /** Returns the member of the main display, or else of the first display that has it. */
  #first<K extends "png" | "jpeg" | "svg" | "html" | "rows">(member: K): Display[K] | undefined {
    const ordered = this.displays.sort((a, b) => Number(b.main) - Number(a.main));
    return ordered.find((display) => display[member] !== undefined)?.[member];
  }

  /** The value of the last expression, as its language would show it. */
  get text(): string | undefined {
    return this.displays.find((display) => display.main)?.text;
  }

  /** The first picture. */
  get png(): Uint8Array | undefined {
    return this.#first("png");
  }

  get jpeg(): Uint8Array | undefined {
    return this.#first("jpeg");
  }

  get svg(): string | undefined {
    return this.#first("svg");
  }

  get html(): string | undefined {
    return this.#first("html");
  }

  /** The rows of the first table. */
  get rows(): Row[] | undefined {
    return this.#first("rows");
  }

  /** Throws CodeFailedError if the code failed, and returns the result otherwise. */
  throwForError(): this {
    if (!this.ok) throw new CodeFailedError(this.error, this.exitCode);
    return this;
  }

  [Symbol.for("Jupyter.display")](): Record<string, unknown> {
    const shown = this.displays.find((display) => display.main) ?? this.displays[0];
    const failure = this.error ? `${this.error.type}: ${this.error.message}` : "";
    return shown?.data ?? { "text/plain": [this.stdout, failure].filter(Boolean).join("\n") };
  }
}

/** One step of an execution. */
export class Event {
  constructor(
    /** As the REST API has it. */
    readonly body: EventBody,
    readonly result: Result | undefined,
  ) {}

  get seq(): number {
    return this.body.seq;
  }

  get type(): EventBody["type"] {
    return this.body.type;
  }

  get at(): Date {
    return new Date(this.body.at);
  }

  /** The display of a display event. */
  get display(): Display | undefined {
    return this.body.display && new Display(this.body.display.data, Boolean(this.body.display.main));
  }

  /** The range of lost events that this event replaces. */
  get gap(): Gap | undefined {
    return this.body.gap;
  }

  /** The output as it was written. */
  get bytes(): Uint8Array {
    return bytesOf(this.body);
  }

  /** The output as text; bytes that are no UTF-8 become U+FFFD. */
  get text(): string {
    return this.body.data ?? new TextDecoder().decode(this.bytes);
  }
}

/** A piece of the output of executions. */
export class LogEntry {
  constructor(
    /** As the REST API has it. */
    readonly body: LogBody,
  ) {}

  get type(): LogBody["type"] {
    return this.body.type;
  }

  get at(): Date {
    return new Date(this.body.at);
  }

  get executionId(): string {
    return this.body.execution_id ?? "";
  }

  /** The output as it was written. */
  get bytes(): Uint8Array {
    return bytesOf(this.body);
  }

  /** The output as text; bytes that are no UTF-8 become U+FFFD. */
  get text(): string {
    return this.body.data ?? new TextDecoder().decode(this.bytes);
  }
}

function bytesOf(body: EventBody | LogBody): Uint8Array {
  return body.data_base64 === undefined ? new TextEncoder().encode(body.data ?? "") : fromBase64(body.data_base64);
}
