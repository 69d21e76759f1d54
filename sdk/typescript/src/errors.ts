// The errors that calls throw. Code that fails inside a sandbox throws no error here: see Result.error.

import type { ExecutionError, Problem } from "./models.js";

export interface ErrorDetails {
  code: string;
  field?: string | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** A call failed. `code` names the kind of failure and never changes between releases. */
export class YurtError extends Error {
  readonly code: string;
  /** Dotted path of the wrong input. */
  readonly field: string | undefined;
  /** The request's name in the server's log. */
  readonly requestId: string | undefined;
  /** Seconds until the request may be sent again, since the server did not do the work; undefined if the server named no time. */
  readonly retryAfter: number | undefined;
  /** The object is gone, which an earlier request of the same call has probably removed: its answer was lost. */
  removed = false;

  constructor(message: string, details: ErrorDetails) {
    const place = details.field ? `${details.field}: ` : "";
    const request = details.requestId ? ` (request ${details.requestId})` : "";
    super(`${place}${message} [${details.code}]${request}`, { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
    this.field = details.field;
    this.requestId = details.requestId;
    this.retryAfter = details.retryAfter;
  }
}

/** An argument has an invalid value. */
export class InvalidArgumentError extends YurtError {}

/** The API key is missing, no longer valid, or lacks the scope of the call. */
export class AccessError extends YurtError {}

/** The sandbox, file, template or other object does not exist. */
export class NotFoundError extends YurtError {}

/** The object is in a state that does not allow the call, such as a sandbox that has ended. */
export class ConflictError extends YurtError {}

/** The file or template is not the one that `ifMatch` or `ifAbsent` is for. */
export class PreconditionError extends ConflictError {}

/** The server is full or the tenant has reached a quota; try again after `retryAfter` seconds. */
export class OverloadedError extends YurtError {}

/** No server answers, or a component that it needs is unavailable. */
export class UnavailableError extends YurtError {}

/** The server failed, or does not support the call. */
export class ServerError extends YurtError {}

/** The code in the sandbox failed. Only Result.throwForError throws it. */
export class CodeFailedError extends Error {
  readonly type: string;
  readonly stacktrace: string[];
  readonly exitCode: number;

  constructor(error: ExecutionError | undefined, exitCode: number) {
    super(error ? `${error.type}: ${error.message}` : `it ended with exit code ${exitCode}`);
    this.name = "CodeFailedError";
    this.type = error?.type ?? "NonZeroExit";
    this.stacktrace = error?.stacktrace ?? [];
    this.exitCode = exitCode;
  }
}

type Kind = new (message: string, details: ErrorDetails) => YurtError;

const byStatus: Record<number, Kind> = {
  400: InvalidArgumentError, 401: AccessError, 403: AccessError, 404: NotFoundError, 409: ConflictError, 412: PreconditionError, 413: InvalidArgumentError, 416: InvalidArgumentError,
  422: InvalidArgumentError, 429: OverloadedError, 502: UnavailableError, 503: UnavailableError,
};

/** Reads a Retry-After header: seconds, or a date. */
function waitOf(header: string | null | undefined): number | undefined {
  if (!header) return undefined;
  if (/^[0-9]{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000);
}

/** Returns the error of a response, which may have a Retry-After header. */
export function problemError(status: number, body: string, header?: string | null): YurtError {
  let Kind = byStatus[status] ?? ServerError;
  const retryAfter = status === 429 || status === 503 ? waitOf(header) : undefined;
  const problem = parseProblem(body);
  if (!problem) {
    if (status === 504) Kind = UnavailableError; // of a proxy that waits no longer for the server
    const code = Kind === UnavailableError ? "unavailable" : "internal";
    return new Kind(`the server answered ${status}, which is not an answer of Yurt; check the address`, { code, retryAfter });
  }
  return new Kind(problem.detail || problem.title, { code: problem.code, field: problem.field, requestId: problem.request_id, retryAfter });
}

function parseProblem(body: string): Problem | undefined {
  try {
    const problem = JSON.parse(body) as Problem | null;
    return typeof problem?.code === "string" ? problem : undefined;
  } catch {
    return undefined;
  }
}
