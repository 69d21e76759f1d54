// Encoding of requests.

import { InvalidArgumentError } from "./errors.js";

export const API = "/api/v1";

/** Files by path: text, or bytes. */
export type FileMap = Record<string, string | Uint8Array>;

const surrogate = /\p{Surrogate}/u; // with u it matches only lone surrogates

function text(value: unknown, field: string): string {
  if (typeof value !== "string") {
    throw new InvalidArgumentError(`it is ${shown(value)}; give a string`, { code: "invalid_argument", field });
  }
  if (surrogate.test(value)) {
    throw new InvalidArgumentError(`${JSON.stringify(value)} holds a lone surrogate, which is no character; give text`, { code: "invalid_path", field });
  }
  return value;
}

function shown(value: unknown): string {
  return value instanceof Object ? `of type ${value.constructor?.name ?? "object"}` : `${String(value)}, of type ${typeof value}`;
}

/** Escapes one segment of a path. */
export function segment(value: unknown): string {
  const plain = text(value, "id");
  if (plain === "" || plain === "." || plain === "..") { // the URL standard takes escaped dots for a step up, too
    throw new InvalidArgumentError(`${JSON.stringify(plain)} is no name; give that of an object`, { code: "invalid_argument", field: "id" });
  }
  return encodeURIComponent(plain);
}

/** Escapes the path of a file as one segment, so that the server, not the URL standard, judges dots in it. */
export function pathOf(value: unknown): string {
  const plain = text(value, "path");
  return encodeURIComponent(plain === "." || plain === ".." ? plain + "/." : plain);
}

/** Returns the header with an API key, or no header without one. The error does not contain the key. */
export function authorization(key: string | undefined): Record<string, string> {
  if (key && !/^[!-~]+$/.test(key)) {
    const why = "it has a blank, a line break or another character that no key has; give it as it was shown";
    throw new InvalidArgumentError(why, { code: "invalid_argument", field: "apiKey" });
  }
  return key ? { authorization: `Bearer ${key}` } : {};
}

/** Returns a name that no other request has: pages without TLS have no crypto.randomUUID. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the members that are given. */
export function given<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** Writes a time. */
export function instant(field: string, at: Date | undefined): string | undefined {
  if (at === undefined) return undefined;
  if (!(at instanceof Date) || Number.isNaN(at.getTime())) {
    throw new InvalidArgumentError(`${String(at)} is no time; give a Date`, { code: "invalid_argument", field });
  }
  return at.toISOString();
}

/** Returns the header that requests a part of a file, or no header for the whole file. */
export function rangeOf(offset = 0, length?: number): Record<string, string> {
  for (const [field, number, least] of [["offset", offset, 0], ["length", length ?? 1, 1]] as const) {
    if (Number.isSafeInteger(number) && number >= least) continue;
    throw new InvalidArgumentError(`${String(number)} is no number of bytes; give a whole number from ${least} on`, { code: "invalid_argument", field });
  }
  if (offset === 0 && length === undefined) return {};
  return { range: `bytes=${offset}-${length === undefined ? "" : offset + length - 1}` };
}

/** Parameters of a query. */
export type Query = Record<string, string | number | boolean | undefined>;

/** Writes the members that are given as a query, with its question mark. */
export function queryOf(members: Query): string {
  const pairs = Object.entries(members).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? "" : "?" + new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
}

/** Writes a request as JSON. The error for a value without JSON names the member. */
export function encode(body: object): string {
  try {
    return JSON.stringify(body, refuse);
  } catch (error) {
    for (const [name, value] of Object.entries(body)) {
      try {
        JSON.stringify({ value }, refuse);
      } catch (reason) {
        const why = reason instanceof Error ? reason.message : String(reason);
        throw new InvalidArgumentError(`JSON cannot say it: ${why}; give text, finite numbers, arrays and plain objects`, { code: "invalid_argument", field: name });
      }
    }
    throw error;
  }
}

function refuse(_: string, value: unknown): unknown {
  switch (typeof value) {
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} is no number of JSON`);
      break;
    case "string":
      if (surrogate.test(value)) throw new TypeError("a lone surrogate is no character");
      break;
    case "bigint":
    case "function":
    case "symbol":
      throw new TypeError(`it is a ${typeof value}`);
    case "object":
      if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Map || value instanceof Set) {
        throw new TypeError(`it is of type ${value.constructor.name}`);
      }
  }
  return value;
}

/** Refuses a value that is not an object with members, such as an array, whose indices would count as names. */
export function plainObject(value: unknown, field: string, members: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Map || ArrayBuffer.isView(value)) {
    throw new InvalidArgumentError(`it is ${shown(value)}; give an object of ${members}`, { code: "invalid_argument", field });
  }
}

/** Writes permission bits in octal. */
export function modeOf(mode: string | number | undefined): string | undefined {
  return typeof mode === "number" ? mode.toString(8) : mode;
}

/** Writes text unchanged and bytes in base64. */
export function filesOf(files: FileMap | undefined): Record<string, string | { base64: string }> | undefined {
  if (files === undefined) return undefined;
  plainObject(files, "files", "paths and contents");
  return Object.fromEntries(Object.entries(files).map(([path, data]) => [path, data instanceof Uint8Array ? { base64: toBase64(data) } : data]));
}

const piece = 0x6000; // bytes, a multiple of 3; String.fromCharCode takes each as an argument

export function toBase64(data: Uint8Array): string {
  const parts: string[] = [];
  for (let from = 0; from < data.length; from += piece) {
    parts.push(btoa(String.fromCharCode(...data.subarray(from, from + piece))));
  }
  return parts.join("");
}

export function fromBase64(data: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
}

/** Of which file or template a write is, so that it replaces no other one. */
export interface Condition {
  /** The `etag` of the file or template as it was read: one that has changed since is a PreconditionError. */
  ifMatch?: string | undefined;
  /** Only a file or template that is not there is written. */
  ifAbsent?: boolean | undefined;
}

/** Returns the headers of a condition. */
export function conditionOf({ ifMatch, ifAbsent }: Condition): Record<string, string> {
  return { ...(ifMatch ? { "if-match": ifMatch } : {}), ...(ifAbsent ? { "if-none-match": "*" } : {}) };
}
