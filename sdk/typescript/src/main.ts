// All that the package offers, on every platform.

export { AuditLog, type AuditOptions, type KeyOptions, Keys, type QuotaOptions, Tenants } from "./accounts.js";
export { type CallOptions, type ClientOptions, type ContainersOptions, type LogsOptions, Yurt } from "./client.js";
export {
  AccessError, CodeFailedError, ConflictError, InvalidArgumentError, NotFoundError, OverloadedError, PreconditionError, ServerError, UnavailableError, YurtError,
} from "./errors.js";
export { type Callbacks, Execution } from "./execution.js";
export { Files, type Source, type TransferOptions, type WriteOptions } from "./files.js";
export type * from "./models.js";
export { Contexts, type LanguageOptions, Nodes, type NodesOptions, Pools, Processes, type ProgressOptions, type PushOptions, type QuestionOptions, Templates } from "./parts.js";
export { Display, Event, LogEntry, Result, type Row } from "./results.js";
export {
  type CodeOptions, type CreateOptions, type Duration, type ExecutionsOptions, type InvokeOptions, type ListOptions, type OnDisconnect, type Place, type RunOptions, Sandbox, type TerminalOptions,
} from "./sandbox.js";
export { Terminal } from "./terminal.js";
export * as tools from "./tools.js";
export type { Condition, FileMap } from "./wire.js";
