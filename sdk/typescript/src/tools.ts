// Tools for agents: their definitions in the form of each framework, and one function that calls them.

import { InvalidArgumentError } from "./errors.js";
import type { Result } from "./results.js";
import type { Sandbox } from "./sandbox.js";

export interface Schema {
  type: "object";
  properties: Record<string, { type: "string"; description?: string }>;
  required: string[];
  additionalProperties: false;
}

export interface Tool {
  name: string;
  description: string;
  parameters: Schema;
}

const path = { type: "string", description: "Relative to /workspace." } as const;
const string = { type: "string" } as const;

function tool(name: string, description: string, required: string[], properties: Schema["properties"]): Tool {
  return { name, description, parameters: { type: "object", properties, required, additionalProperties: false } };
}

/** Returns the tools as `name`, `description` and `parameters`, a JSON schema. */
export function jsonSchema(): Tool[] {
  const language = { type: "string", description: "python unless given, such as javascript or r." } as const;
  return [
    tool("run_code", "Run code in a sandbox. Variables and imports last from one call to the next.", ["code"], { code: string, language }),
    tool("run_command", "Run a line for the shell in the sandbox.", ["command"], { command: string }),
    tool("write_file", "Write a file of text in the sandbox.", ["path", "text"], { path, text: string }),
    tool("read_file", "Read a file of text in the sandbox.", ["path"], { path }),
    tool("list_files", "List a directory of the sandbox.", [], { path }),
  ];
}

/** Returns the tools for OpenAI's chat completions. */
export const openai = (): { type: "function"; function: Tool }[] => jsonSchema().map((each) => ({ type: "function", function: each }));

/** Returns the tools for Anthropic's messages. */
export function anthropic(): { name: string; description: string; input_schema: Schema }[] {
  return jsonSchema().map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
}

/** Returns the tools for LangChain, bound to the sandbox. make is `tool` of `@langchain/core/tools`. */
export function langchain<T>(
  sandbox: Sandbox, make: (run: (input: any) => Promise<string>, fields: { name: string; description: string; schema: any }) => T,
): T[] {
  return jsonSchema().map(({ name, description, parameters }) => make((input) => call(sandbox, name, input), { name, description, schema: parameters }));
}

/** Returns the tools for the AI SDK, bound to the sandbox. ai has `tool` and `jsonSchema` of the package `ai`. */
export function aiSdk<T>(sandbox: Sandbox, ai: { tool: (definition: any) => T; jsonSchema: (schema: any) => unknown }): Record<string, T> {
  return Object.fromEntries(jsonSchema().map(({ name, description, parameters }) => {
    const definition = { description, inputSchema: ai.jsonSchema(parameters), execute: (input: Record<string, string>) => call(sandbox, name, input) };
    return [name, ai.tool(definition)];
  }));
}

/** Calls the tool of that name and returns the text for the model. */
export async function call(sandbox: Sandbox, name: string, input: Record<string, string>): Promise<string> {
  check(name, input);
  switch (name) {
    case "run_code":
      return told(await sandbox.runCode(input["code"], { language: input["language"] ?? "python" }));
    case "run_command":
      return told(await sandbox.runCommand(input["command"]!));
    case "write_file":
      return `${(await sandbox.files.write(input["path"]!, input["text"]!)).size} bytes written`;
    case "read_file":
      return sandbox.files.read(input["path"]!);
    default: // list_files
      return (await sandbox.files.list(input["path"] ?? "")).map((file) => file.path).join("\n");
  }
}

/** Refuses calls that a model made up. */
function check(name: string, input: Record<string, string>): void {
  const refuse = (field: string, message: string, code = "invalid_argument") => {
    throw new InvalidArgumentError(message, { code, field });
  };
  const all = jsonSchema();
  const parameters = all.find((each) => each.name === name)?.parameters;
  if (!parameters) return refuse("name", `${JSON.stringify(name)} is no tool; the tools are ${all.map((each) => each.name).join(", ")}`);
  const allowed = Object.keys(parameters.properties);
  for (const missing of parameters.required) {
    if (!Object.hasOwn(input, missing)) refuse(missing, `${name} needs ${missing}; its arguments are ${allowed.join(", ")}`);
  }
  for (const given of Object.keys(input)) {
    if (!allowed.includes(given)) refuse(given, `${name} has no argument ${JSON.stringify(given)}; it has ${allowed.join(", ")}`, "unknown_field");
  }
}

/** Returns the parts of a result that a model can read. */
function told({ stdout, stderr, text, error, exitCode }: Result): string {
  const parts = [stdout, stderr, text ?? ""];
  if (!error && exitCode) parts.push(`exit code ${exitCode}`);
  if (error && !stderr.includes(error.message)) parts.push(`${error.type}: ${error.message}`);
  return parts.filter(Boolean).map((part) => part.replace(/\n+$/, "")).join("\n");
}
