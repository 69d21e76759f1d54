// The errors that calls throw. Code that fails inside a sandbox throws none: see Result.error.

import type { ExecutionError, Problem } from "./models.js";

export interface ErrorDetails {
  code: string;
  field?: string | undefined;
  requestId?: string | undefined;
  cause?: unknown;
}

/** A call failed. `code` names the kind of failure and never changes between releases. */
export class YurtError extends Error {
  readonly code: string;
  /** Dotted path of the input that is wrong. */
  readonly field: string | undefined;
  /** Names the request in the server's log. */
  readonly requestId: string | undefined;

  constructor(message: string, details: ErrorDetails) {
    const place = details.field ? `${details.field}: ` : "";
    const request = details.requestId ? ` (request ${details.requestId})` : "";
    super(`${place}${message} [${details.code}]${request}`, { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
    this.field = details.field;
    this.requestId = details.requestId;
  }
}

/** An argument has a value that is not allowed. */
export class InvalidArgumentError extends YurtError {}

/** The API key is missing, not valid any more, or lacks the scope of the call. */
export class AccessError extends YurtError {}

/** The sandbox, file, template or other object does not exist. */
export class NotFoundError extends YurtError {}

/** The object is in a state that does not allow the call, such as a sandbox that has ended. */
export class ConflictError extends YurtError {}

/** The server is full; try again later. */
export class OverloadedError extends YurtError {}

/** No server answers, or a part that it needs is not there now. */
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
  400: InvalidArgumentError, 401: AccessError, 403: AccessError, 404: NotFoundError, 409: ConflictError, 413: InvalidArgumentError, 416: InvalidArgumentError,
  422: InvalidArgumentError, 429: OverloadedError, 502: UnavailableError, 503: UnavailableError,
};

/** Returns the error of an answer. */
export function problemError(status: number, body: string): YurtError {
  const Kind = byStatus[status] ?? ServerError;
  const problem = parseProblem(body);
  if (!problem) {
    const code = Kind === UnavailableError ? "unavailable" : "internal";
    return new Kind(`the server answered ${status}, which is not an answer of Yurt; check the address`, { code });
  }
  return new Kind(problem.detail || problem.title, { code: problem.code, field: problem.field, requestId: problem.request_id });
}

function parseProblem(body: string): Problem | undefined {
  try {
    const problem = JSON.parse(body) as Problem | null;
    return typeof problem?.code === "string" ? problem : undefined;
  } catch {
    return undefined;
  }
}
