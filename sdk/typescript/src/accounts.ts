// The API keys of a server, its tenants and their quotas, and its audit log.

import type { CallOptions, Yurt } from "./client.js";
import type { CreatedKey, Entry, Key, TenantUsage, UsageHistory } from "./models.js";
import { API, given, instant, queryOf, segment } from "./wire.js";

const mostOfPage = 500;

export interface KeyOptions extends CallOptions {
  /** The tenant of the key. Default: the client's tenant; an operator can name another. */
  tenant?: string;
  /** A label that tells people the purpose of the key. */
  name?: string;
  /** Seconds, or text such as "720h", after which the key expires. Default: never. */
  expiresIn?: number | string;
}

/** The API keys of a server, for a client whose key has the scope admin. */
export class Keys {
  readonly #client: Yurt;
  readonly #path = API + "/keys";

  constructor(client: Yurt) {
    this.#client = client;
  }

  /** Lists keys, newest first: those of the client's tenant; an operator can name another tenant, or "*" for all. */
  async list({ tenant, signal }: CallOptions & { tenant?: string } = {}): Promise<Key[]> {
    const found: Key[] = [];
    const query = { tenant, limit: mostOfPage };
    for await (const page of this.#client.pages<{ keys: Key[] | null; next_cursor: string }>(this.#path, query, { signal })) {
      found.push(...(page.keys ?? []));
    }
    return found;
  }

  /** Creates a key. Only this call returns its `key`. */
  create(scopes: string[], { tenant, name, expiresIn, signal }: KeyOptions = {}): Promise<CreatedKey> {
    return this.#client.call("POST", this.#path, { json: given({ scopes, tenant, name, expires_in: expiresIn }), signal });
  }

  /** Revokes a key by its id, not by the key itself. Each controller refuses the key within five seconds. */
  async revoke(id: string, options: CallOptions = {}): Promise<Key> {
    return this.#client.call("DELETE", `${this.#path}/${segment(id)}`, options);
  }
}

/** The quotas of a tenant. A quota that is left out has no limit. */
export interface QuotaOptions extends CallOptions {
  sessions?: number;
  createsPerMinute?: number;
  cpu?: number;
  memory?: number | string;
  disk?: number | string;
  executions?: number;
  storage?: number | string;
}

/** The tenants of a server. All calls but `usage` and `samples` need an operator's key. */
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

  /** Returns the quotas and the usage of the client's tenant; an operator can name another tenant. */
  usage({ tenant, signal }: CallOptions & { tenant?: string } = {}): Promise<TenantUsage> {
    return this.#client.call("GET", `${API}/usage${queryOf({ tenant })}`, { signal });
  }

  /** Returns the measured usage of a tenant or of one sandbox in the last 24 hours: a sample every five minutes. */
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

/** Filters of the list of entries. An entry must match all of them. */
export interface AuditOptions extends CallOptions {
  tenant?: string;
  action?: string;
  decision?: Entry["decision"];
  sessionId?: string;
  keyId?: string;
  /** The caller, by the name in the tokens of its issuer. */
  subject?: string;
  requestId?: string;
  since?: Date;
  until?: Date;
  /** The largest number of entries. Default: all. */
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
