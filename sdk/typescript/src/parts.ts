// The smaller parts of a sandbox and of a server.

import type { CallOptions, Request, Yurt } from "./client.js";
import { UnavailableError, YurtError, problemError } from "./errors.js";
import type { Completion, Context, Drain, Inspection, NodeInfo, Pool, Process, Template, TemplateEvent } from "./models.js";
import { API, type Condition, conditionOf, encode, given, queryOf, segment } from "./wire.js";

export interface LanguageOptions extends CallOptions {
  language?: string;
}

/** A question about code in a context. */
export interface QuestionOptions extends LanguageOptions {
  /** Name of the context. Default: default. */
  name?: string;
  /** Position of the cursor in Unicode code points. Default: the end of the code. */
  cursor?: number;
  /** Bounds the wait for a busy context: seconds, or text such as "5s". */
  timeout?: number | string;
}

export interface ProgressOptions extends CallOptions {
  /** Called with the output of package managers. */
  onProgress?: (text: string) => unknown;
}

export interface NodesOptions extends CallOptions {
  namePrefix?: string;
  healthy?: boolean;
  draining?: boolean;
}

export interface PushOptions extends ProgressOptions {
  /** Maps a template's name to its base. The base cannot be deleted while the template exists. */
  extends?: Record<string, string>;
  replace?: boolean;
}

/** Interpreters that keep variables, imports and the working directory from one execution to the next. */
export class Contexts {
  readonly #client: Yurt;
  readonly #path: string;

  constructor(client: Yurt, session: string) {
    this.#client = client;
    this.#path = session + "/contexts";
  }

  /** Lists the contexts, or those of a language. */
  async list({ language, ...options }: LanguageOptions = {}): Promise<Context[]> {
    return this.#client.whole<Context>(this.#path, "contexts", { language }, options);
  }

  /** Replaces the interpreter of a context by a fresh one. */
  async restart(name = "default", { language, signal }: LanguageOptions = {}): Promise<void> {
    await this.#client.send("POST", `${this.#path}/${segment(name)}/restart${queryOf({ language })}`, { signal });
  }

  /** Removes a context, of each language or of one. Executions that run or wait in it end. */
  async remove(name: string, { language, signal }: LanguageOptions = {}): Promise<void> {
    await this.#client.remove(`${this.#path}/${segment(name)}${queryOf({ language })}`, { signal });
  }

  /** Returns the completions of code at the cursor without running it. */
  complete(code: string, { name = "default", cursor, language, timeout, signal }: QuestionOptions = {}): Promise<Completion> {
    return this.#client.call("POST", `${this.#path}/${segment(name)}/complete`, { json: given({ code, cursor, language, timeout }), repeat: true, signal });
  }

  /** Describes the name at the cursor without running the code. */
  inspect(code: string, { name = "default", cursor, detail, language, timeout, signal }: QuestionOptions & { detail?: number } = {}): Promise<Inspection> {
    const json = given({ code, cursor, detail, language, timeout });
    return this.#client.call("POST", `${this.#path}/${segment(name)}/inspect`, { json, repeat: true, signal });
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

  /** Lists the processes, or those of an execution. */
  async list({ executionId, ...options }: CallOptions & { executionId?: string } = {}): Promise<Process[]> {
    return this.#client.whole<Process>(this.#path, "processes", { execution_id: executionId }, options);
  }

  /** Sends a signal, such as "INT" or 2, to a process, by its number in the sandbox. */
  async sendSignal(pid: number, signal: string | number, options: CallOptions = {}): Promise<void> {
    await this.#client.send("POST", `${this.#path}/${segment(String(pid))}/signal`, { json: { signal }, ...options });
  }

  /** Kills a process, by its number in the sandbox. */
  async kill(pid: number, options: CallOptions = {}): Promise<void> {
    await this.#client.send("DELETE", `${this.#path}/${segment(String(pid))}`, { ...options, repeat: false }); // a later process may have the number
  }
}

/** The templates of a server. */
export class Templates {
  readonly #client: Yurt;
  readonly #path = API + "/templates";

  constructor(client: Yurt) {
    this.#client = client;
  }

  /** Lists the templates that match, by name. */
  async list({ namePrefix, runtime, ...options }: CallOptions & { namePrefix?: string; runtime?: string } = {}): Promise<Template[]> {
    return this.#client.whole<Template>(this.#path, "templates", { name_prefix: namePrefix, runtime }, options);
  }

  /** Returns the template of that name. */
  get(name: string, options: CallOptions = {}): Promise<Template> {
    return this.#client.call("GET", `${this.#path}/${segment(name)}`, options);
  }

  /** Creates a template from HCL text, or from the same as an object. onProgress gets the output of package managers. */
  create(source: string | object, options: ProgressOptions = {}): Promise<Template> {
    return this.#make("POST", this.#path, source, options);
  }

  /** Replaces the template of that name, or creates it. Existing sandboxes keep their version. */
  async replace(name: string, source: string | object, options: ProgressOptions & Condition = {}): Promise<Template> {
    return this.#make("PUT", `${this.#path}/${segment(name)}`, source, options);
  }

  /** Returns one template with its ETag. */
  async tagged(name: string, options: CallOptions = {}): Promise<{ template: Template; etag: string }> {
    const response = await this.#client.send("GET", `${this.#path}/${segment(name)}`, { repeat: true, ...options });
    return { template: (await response.json()) as Template, etag: response.headers.get("etag") ?? "" };
  }

  /** Creates all of the templates, or fails and creates not one. With replace, they replace templates of the same name; else the call is refused. */
  async push(templates: object[], { extends: bases, replace = false, ...options }: PushOptions = {}): Promise<void> {
    await this.#follow("POST", this.#path + "/batch", { json: given({ templates, extends: bases, replace }) }, options);
  }

  /** Makes each node that can run the template install its packages, and returns the names of these nodes. */
  async prepare(name: string, options: ProgressOptions = {}): Promise<string[]> {
    return (await this.#follow("POST", `${this.#path}/${segment(name)}/prepare`, {}, options)).nodes ?? [];
  }

  async #make(method: string, path: string, source: string | object, options: ProgressOptions & Condition): Promise<Template> {
    const [kind, body] = typeof source === "string" ? ["hcl", source] : ["json", encode(source)];
    const condition = conditionOf(options);
    const once = Object.keys(condition).length > 0; // a first try may have made the condition false
    const { template } = await this.#follow(method, path, { body, headers: { "content-type": `application/${kind}`, ...condition }, once }, options);
    if (!template) throw new YurtError("the server did not tell the template", { code: "internal" });
    return template;
  }

  /** Sends a request about templates, reports its progress, and returns its last event. */
  async #follow(method: string, path: string, request: Request, { onProgress, signal }: ProgressOptions): Promise<TemplateEvent> {
    for await (const event of this.#client.events<TemplateEvent>(method, path, { ...request, signal })) {
      if (event.problem) throw problemError(event.problem.status, JSON.stringify(event.problem));
      if (event.type !== "progress") return event;
      await onProgress?.(event.data ?? "");
    }
    throw new UnavailableError("the connection broke before the server was done with the template; ask whether it is there", { code: "unavailable" });
  }

  /** Removes a template. One that others extend is a ConflictError. Sandboxes that there are go on. */
  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.#client.remove(`${this.#path}/${segment(name)}`, options);
  }
}

/** The machines of the sandboxes. */
export class Nodes {
  readonly #client: Yurt;
  readonly #path = API + "/nodes";

  constructor(client: Yurt) {
    this.#client = client;
  }

  /** Lists the nodes that match, by name, with their last known state. A healthy node answers. */
  async list({ namePrefix, healthy, draining, ...options }: NodesOptions = {}): Promise<NodeInfo[]> {
    return this.#client.whole<NodeInfo>(this.#path, "nodes", { name_prefix: namePrefix, healthy, draining }, options);
  }

  /** Drains a node: it takes no new sandboxes, and its sandboxes end after the grace period of seconds or text such as "10m". */
  async drain(name: string, { grace, signal }: CallOptions & { grace?: number | string } = {}): Promise<Drain> {
    return this.#client.call("POST", `${this.#path}/${segment(name)}/drain`, { json: given({ grace }), signal });
  }

  /** Ends a drain: the node takes sandboxes again. */
  async undrain(name: string, options: CallOptions = {}): Promise<Drain> {
    return this.#client.call("DELETE", `${this.#path}/${segment(name)}/drain`, options);
  }
}

/** The warm sandboxes that a server keeps ready. */
export class Pools {
  readonly #client: Yurt;
  readonly #path = API + "/pools";

  constructor(client: Yurt) {
    this.#client = client;
  }

  /** Lists the pools, or those of templates whose name begins with the prefix. */
  async list({ templatePrefix, ...options }: CallOptions & { templatePrefix?: string } = {}): Promise<Pool[]> {
    return this.#client.whole<Pool>(this.#path, "pools", { template_prefix: templatePrefix }, options);
  }

  /** Returns the pool of a template; one without a pool has a pool of size 0. */
  get(template: string, options: CallOptions = {}): Promise<Pool> {
    return this.#client.call("GET", `${this.#path}/${segment(template)}`, options);
  }

  /** Gives the pool of a template another size. A bound that is left out stays. The server gets there within a second or so. */
  set(template: string, { min, max, signal }: CallOptions & { min?: number; max?: number }): Promise<Pool> {
    return this.#client.call("PUT", `${this.#path}/${segment(template)}`, { json: given({ min, max }), signal });
  }

  /** Lets the template size its pool again. */
  unset(template: string, options: CallOptions = {}): Promise<Pool> {
    return this.#client.call("DELETE", `${this.#path}/${segment(template)}`, options);
  }
}
