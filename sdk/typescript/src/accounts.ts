// The API keys of a server, its tenants and their quotas, and its audit log.

import type { CallOptions, Yurt } from "./client.js";
import type { CreatedKey, Entry, Key, TenantUsage, UsageHistory } from "./models.js";
import { API, given, instant, queryOf, segment } from "./wire.js";

const mostOfPage = 500;

export interface KeyOptions extends CallOptions {
  /** Whose key it is. Default: the tenant of the client's key; an operator may name another. */
  tenant?: string;
  /** For its users to tell it by. */
  name?: string;
  /** Seconds, or text such as "720h", after which it opens no door. Default: never. */
  expiresIn?: number | string;
}

/** The API keys of a server, for a client whose key has the scope admin. */
export class Keys {
  readonly #client: Yurt;
  readonly #path = API + "/keys";

  constructor(client: Yurt) {
    this.#client = client;
  }

  /** Lists the keys of a tenant, newest first: of that of the client's key, unless an operator names another, or "*" for all. */
  async list({ tenant, signal }: CallOptions & { tenant?: string } = {}): Promise<Key[]> {
    const found: Key[] = [];
    const query = { tenant, limit: mostOfPage };
    for await (const page of this.#client.pages<{ keys: Key[] | null; next_cursor: string }>(this.#path, query, { signal })) {
      found.push(...(page.keys ?? []));
    }
    return found;
  }

  /** Makes a key. Its `key` is told this once. */
  create(scopes: string[], { tenant, name, expiresIn, signal }: KeyOptions = {}): Promise<CreatedKey> {
    return this.#client.call("POST", this.#path, { json: given({ scopes, tenant, name, expires_in: expiresIn }), signal });
  }

  /** Revokes a key, by its id and not by the key itself. Each controller refuses it within five seconds. */
  async revoke(id: string, options: CallOptions = {}): Promise<Key> {
    return this.#client.call("DELETE", `${this.#path}/${segment(id)}`, options);
  }
}

/** The quotas of a tenant. One that is left out is no bound. */
export interface QuotaOptions extends CallOptions {
  sessions?: number;
  createsPerMinute?: number;
  cpu?: number;
  memory?: number | string;
  disk?: number | string;
  executions?: number;
  storage?: number | string;
}

/** The tenants of a server. All but `usage` and `samples` needs the key of an operator. */
export class Tenants {
  readonly #client: Yurt;
  readonly #path = API + "/tenants";

  constructor(client: Yurt) {
    this.#client = client;
  }

  /** Lists the tenants that have quotas, keys or sandboxes, by name. */
  async list(options: CallOptions = {}): Promise<TenantUsage[]> {
    const found: TenantUsage[] = [];
    const pages = this.#client.pages<{ tenants: TenantUsage[] | null; next_cursor: string }>(this.#path, { limit: mostOfPage }, options);
    for await (const page of pages) found.push(...(page.tenants ?? []));
    return found;
  }

  /** Returns the quotas and the use of a tenant: of that of the client's key, unless an operator names another. */
  usage({ tenant, signal }: CallOptions & { tenant?: string } = {}): Promise<TenantUsage> {
    return this.#client.call("GET", `${API}/usage${queryOf({ tenant })}`, { signal });
  }

  /** Returns the real use of a tenant, or of one sandbox, in the last 24 hours: a sample every five minutes. */
  samples({ tenant, sessionId, signal }: CallOptions & { tenant?: string; sessionId?: string } = {}): Promise<UsageHistory> {
    return this.#client.call("GET", `${API}/usage/samples${queryOf({ tenant, session_id: sessionId })}`, { signal });
  }

  /** Replaces the quotas of a tenant. */
  async setQuotas(tenant: string, quotas: QuotaOptions = {}): Promise<TenantUsage> {
    const { sessions, createsPerMinute, cpu, memory, disk, executions, storage, signal } = quotas;
    const json = given({ sessions, creates_per_minute: createsPerMinute, cpu, memory, disk, executions, storage });
    return this.#client.call("PUT", `${this.#path}/${segment(tenant)}`, { json, signal });
  }
}

/** The entries to list: those that match all that is given. */
export interface AuditOptions extends CallOptions {
  tenant?: string;
  action?: string;
  decision?: Entry["decision"];
  sessionId?: string;
  keyId?: string;
  /** The caller, as its tokens of an issuer name it. */
  subject?: string;
  requestId?: string;
  since?: Date;
  until?: Date;
  /** The most entries, the newest ones. Default: all. */
  limit?: number;
}

/** The audit log of a server: changes, refusals and events that concern security. It needs the scope admin. */
export class AuditLog {
  readonly #client: Yurt;

  constructor(client: Yurt) {
    this.#client = client;
  }

  /** Lists entries, newest first. */
  async list(options: AuditOptions = {}): Promise<Entry[]> {
    const { tenant, action, decision, sessionId, keyId, subject, requestId, since, until, limit = Infinity, signal } = options;
    const query = {
      tenant, action, decision, session_id: sessionId, key_id: keyId, subject, request_id: requestId,
      since: instant("since", since), until: instant("until", until), limit: Math.min(limit, mostOfPage),
    };
    const found: Entry[] = [];
    for await (const page of this.#client.pages<{ entries: Entry[] | null; next_cursor: string }>(API + "/audit", query, { signal })) {
      found.push(...(page.entries ?? []));
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }
}
