// The objects of the REST API, with the names that they have there.

import type { components } from "./api.js";

type Schemas = components["schemas"];

export type Artifact = Schemas["Artifact"];
export type Completion = Schemas["Completion"];
export type Container = Schemas["Sandbox"];
export type Context = Schemas["Context"];
export type CreateSessionBody = Schemas["CreateSessionBody"];
export type CreatedKey = Schemas["CreatedKey"];
export type DisplayEvent = Schemas["DisplayEvent"];
export type Drain = Schemas["Drain"];
export type Entry = Schemas["Entry"];
export type EventBody = Schemas["EventBody"];
export type ExecuteBody = Schemas["ExecuteBody"];
export type ExecutionBody = Schemas["ExecutionBody"];
export type ExecutionError = Schemas["ExecutionError"];
export type ExecutionList = Schemas["ExecutionList"];
export type ExecutionSummary = Schemas["Execution"];
export type FileEvent = Schemas["FileEventBody"];
export type FileInfo = Schemas["FileInfo"];
export type FileList = Schemas["FileList"];
export type Gap = Schemas["Gap"];
export type Inspection = Schemas["Inspection"];
export type Key = Schemas["Key"];
export type LogBody = Schemas["LogBody"];
export type Metrics = Schemas["Metrics"];
export type NodeInfo = Schemas["NodeInfo"];
export type Pool = Schemas["Pool"];
export type Problem = Schemas["Problem"];
export type Process = Schemas["Process"];
export type ResourcesBody = Schemas["ResourcesBody"];
export type ResultBody = Schemas["Result"];
export type RuntimeInfo = Schemas["RuntimeInfo"];
export type SandboxStats = Schemas["SandboxStats"];
export type Session = Schemas["Session"];
export type SessionEvent = Schemas["SessionEvent"];
export type SessionList = Schemas["SessionList"];
export type Template = Schemas["Template"];
export type TemplateEvent = Schemas["TemplateEvent"];
export type TenantUsage = Schemas["TenantUsage"];
export type Transition = Schemas["Transition"];
export type Truncated = Schemas["Truncated"];
export type Unpacked = Schemas["Unpacked"];
export type Version = Schemas["VersionBody"];
