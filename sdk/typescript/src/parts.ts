// The smaller parts of a sandbox and of a server.

import type { CallOptions, Yurt } from "./client.js";
import { UnavailableError, problemError } from "./errors.js";
import type { Completion, Context, Inspection, Pool, Process, Template, TemplateEvent } from "./models.js";
import { API, given, queryOf, segment } from "./wire.js";

export interface LanguageOptions extends CallOptions {
  language?: string;
}

/** A question about code in a context. */
export interface QuestionOptions extends LanguageOptions {
  /** Of the context. Default: default. */
  name?: string;
  /** In Unicode code points. Default: the end of the code. */
  cursor?: number;
}

/** Interpreters whose variables, imports and working directory last from one execution to the next. */
export class Contexts {
  readonly #client: Yurt;
  readonly #path: string;

  constructor(client: Yurt, session: string) {
    this.#client = client;
    this.#path = session + "/contexts";
  }

  async list(options: CallOptions = {}): Promise<Context[]> {
    return (await this.#client.call<{ contexts: Context[] | null }>("GET", this.#path, options)).contexts ?? [];
  }

  /** Gives a context a fresh interpreter. */
  async restart(name = "default", { language, signal }: LanguageOptions = {}): Promise<void> {
    await this.#client.send("POST", `${this.#path}/${segment(name)}/restart${queryOf({ language })}`, { signal });
  }

  async remove(name: string, { language, signal }: LanguageOptions = {}): Promise<void> {
    await this.#client.send("DELETE", `${this.#path}/${segment(name)}${queryOf({ language })}`, { signal });
  }

  /** Says how the code may go on at the cursor. None of it is run. */
  complete(code: string, { name = "default", cursor, language, signal }: QuestionOptions = {}): Promise<Completion> {
    return this.#client.call("POST", `${this.#path}/${segment(name)}/complete`, { json: given({ code, cursor, language }), signal });
  }

  /** Says what the name at the cursor stands for. None of the code is run. */
  inspect(code: string, { name = "default", cursor, detail, language, signal }: QuestionOptions & { detail?: number } = {}): Promise<Inspection> {
    return this.#client.call("POST", `${this.#path}/${segment(name)}/inspect`, { json: given({ code, cursor, detail, language }), signal });
  }
}

/** The processes in a sandbox. */
export class Processes {
  readonly #client: Yurt;
  readonly #path: string;

  constructor(client: Yurt, session: string) {
    this.#client = client;
    this.#path = session + "/processes";
  }

  async list(options: CallOptions = {}): Promise<Process[]> {
    return (await this.#client.call<{ processes: Process[] | null }>("GET", this.#path, options)).processes ?? [];
  }

  async sendSignal(pid: number, signal: string | number, options: CallOptions = {}): Promise<void> {
    await this.#client.send("POST", `${this.#path}/${segment(String(pid))}/signal`, { json: { signal }, ...options });
  }

  async kill(pid: number, options: CallOptions = {}): Promise<void> {
    await this.#client.send("DELETE", `${this.#path}/${segment(String(pid))}`, options);
  }
}

/** The templates of a server. */
export class Templates {
  readonly #client: Yurt;
  readonly #path = API + "/templates";

  constructor(client: Yurt) {
    this.#client = client;
  }

  async list(options: CallOptions = {}): Promise<Template[]> {
    return (await this.#client.call<{ templates: Template[] | null }>("GET", this.#path, options)).templates ?? [];
  }

  get(name: string, options: CallOptions = {}): Promise<Template> {
    return this.#client.call("GET", `${this.#path}/${segment(name)}`, options);
  }

  /** Makes a template from HCL text that holds one, or from the same as an object. onProgress gets the output of package managers. */
  async create(source: string | object, { onProgress, signal }: CallOptions & { onProgress?: (text: string) => unknown } = {}): Promise<Template> {
    const [kind, body] = typeof source === "string" ? ["hcl", source] : ["json", JSON.stringify(source)];
    for await (const event of this.#client.events<TemplateEvent>("POST", this.#path, { body, headers: { "content-type": `application/${kind}` }, signal })) {
      if (event.type === "progress") await onProgress?.(event.data ?? "");
      if (event.problem) throw problemError(event.problem.status, JSON.stringify(event.problem));
      if (event.template) return event.template;
    }
    throw new UnavailableError("the connection broke before the server was done with the template; ask whether it is there", { code: "unavailable" });
  }

  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.#client.send("DELETE", `${this.#path}/${segment(name)}`, options);
  }
}

/** The warm sandboxes that a server keeps ready. */
export class Pools {
  readonly #client: Yurt;
  readonly #path = API + "/pools";

  constructor(client: Yurt) {
    this.#client = client;
  }

  async list(options: CallOptions = {}): Promise<Pool[]> {
    return (await this.#client.call<{ pools: Pool[] | null }>("GET", this.#path, options)).pools ?? [];
  }

  get(template: string, options: CallOptions = {}): Promise<Pool> {
    return this.#client.call("GET", `${this.#path}/${segment(template)}`, options);
  }

  set(template: string, { min, max, signal }: CallOptions & { min?: number; max?: number }): Promise<Pool> {
    return this.#client.call("PUT", `${this.#path}/${segment(template)}`, { json: given({ min, max }), signal });
  }

  unset(template: string, options: CallOptions = {}): Promise<Pool> {
    return this.#client.call("DELETE", `${this.#path}/${segment(template)}`, options);
  }
}
