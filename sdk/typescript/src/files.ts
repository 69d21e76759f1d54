// Files of a sandbox.

import { type CallOptions, type Yurt, unless } from "./client.js";
import { InvalidArgumentError, UnavailableError, problemError } from "./errors.js";
import type { FileEvent, FileInfo, FileList, Unpacked } from "./models.js";
import { platform, type Progress, type Upload } from "./platform/platform.js";
import { type Condition, conditionOf, modeOf, pathOf, queryOf, rangeOf } from "./wire.js";

export interface WriteOptions extends CallOptions, Condition {
  append?: boolean;
  /** Permission bits: octal text such as "755", or a number such as 0o755. */
  mode?: string | number;
}

export interface TransferOptions extends CallOptions {
  /** Called with the transferred bytes and the total. */
  onProgress?: Progress;
}

/** A source of an upload: the path of a local file, or bytes, also from a stream. */
export type Source = string | Blob | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** Files by path, relative to /workspace. A path that is not there is a NotFoundError. */
export class Files {
  readonly #client: Yurt;
  readonly #session: string;

  constructor(client: Yurt, session: string) {
    this.#client = client;
    this.#session = session;
  }

  #at(path: string): string {
    return `${this.#session}/files/${pathOf(path)}`;
  }

  /** Returns a file, or the part of it from a byte offset on. */
  async readBytes(path: string, options: CallOptions & { offset?: number; length?: number } = {}): Promise<Uint8Array> {
    const headers = rangeOf(options.offset, options.length);
    const response = await this.#client.send("GET", this.#at(path), { repeat: true, headers, signal: options.signal });
    try {
      return new Uint8Array(await unless(options.signal, response.arrayBuffer()));
    } catch (error) {
      throw this.#client.broken(error, options.signal, "the file broke off; try again");
    }
  }

  /** Returns a text file. It must be UTF-8; readBytes reads other files. */
  async read(path: string, options: CallOptions = {}): Promise<string> {
    const data = await this.readBytes(path, options);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    } catch {
      throw new InvalidArgumentError(`${JSON.stringify(path)} is not text in UTF-8; use readBytes`, { code: "not_text", field: "path" });
    }
  }

  /** Opens a file as a stream. */
  async stream(path: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return (await this.#client.send("GET", this.#at(path), { repeat: true, ...options })).body!;
  }

  /** Writes a file and makes missing directories. */
  async write(path: string, data: string | Uint8Array | ArrayBuffer | Blob, options: WriteOptions = {}): Promise<FileInfo> {
    if (!(typeof data === "string" || data instanceof Uint8Array || data instanceof ArrayBuffer || data instanceof Blob)) {
      throw new InvalidArgumentError(`it is of type ${typeof data}; give a string, bytes or a Blob`, { code: "invalid_argument", field: "data" });
    }
    return this.#put(path, data as BodyInit, options);
  }

  #put(path: string, body: BodyInit, { append, mode, signal, ...condition }: WriteOptions): Promise<FileInfo> {
    const query = queryOf({ append: append || undefined, mode: modeOf(mode) });
    const conditional = conditionOf(condition);
    const headers = { "content-type": "application/octet-stream", ...conditional };
    const once = append || Object.keys(conditional).length > 0; // a first try may have made the condition false
    return this.#client.call("PUT", this.#at(path) + query, { body, headers, once, signal });
  }

  /** Uploads a local file, by its path, or bytes, also from a stream. */
  async upload(source: Source, path: string, options: TransferOptions = {}): Promise<FileInfo> {
    const { onProgress, signal } = options;
    const at = this.#at(path);
    const { body, total } = await opened(source);
    const put = platform().put;
    if (put && body instanceof Blob) { // a browser can send a Blob from disk, but no stream over HTTP/1.1
      const response = await put(this.#client.url + at, this.#client.authorization, body, onProgress ?? (() => undefined), signal);
      if (!response.ok) throw problemError(response.status, await response.text());
      return (await response.json()) as FileInfo;
    }
    const stream = body instanceof Blob ? body.stream() : body;
    return this.#put(path, stream.pipeThrough(counting(total, onProgress)), { signal });
  }

  /** Downloads to a local file or to a stream and returns the size. A failed download leaves no file behind. */
  async download(path: string, target: string | WritableStream<Uint8Array>, options: TransferOptions = {}): Promise<number> {
    return save(await this.#client.send("GET", this.#at(path), { repeat: true, signal: options.signal }), path, target, options);
  }

  /** Downloads a directory as a tar archive and returns its size. Untrusted code has chosen the names and links in it. */
  async pack(path: string, target: string | WritableStream<Uint8Array>, options: TransferOptions = {}): Promise<number> {
    const response = await this.#client.send("POST", this.#session + "/files/archive", { json: { path }, repeat: true, signal: options.signal });
    return save(response, path, target, options);
  }

  /** Unpacks a tar archive into a directory, which is made if necessary. After an error, files unpacked before it stay. */
  async unpack(source: Source, path = "", options: TransferOptions = {}): Promise<Unpacked> {
    const { body, total } = await opened(source);
    const whole = platform().put && body instanceof Blob; // a browser sends no stream over HTTP/1.1
    const sent = whole ? body : (body instanceof Blob ? body.stream() : body).pipeThrough(counting(total, options.onProgress));
    const headers = { "content-type": "application/x-tar" };
    return this.#client.call("POST", `${this.#session}/files/archive${queryOf({ path })}`, { body: sent, headers, signal: options.signal });
  }

  /** Lists the files below a directory, depth levels deep. */
  async list(path = "", options: CallOptions & { depth?: number } = {}): Promise<FileInfo[]> {
    const found: FileInfo[] = [];
    const query = { list: path, depth: options.depth ?? 1 };
    for await (const page of this.#client.pages<FileList>(this.#session + "/files", query, options)) found.push(...(page.files ?? []));
    return found;
  }

  /** Describes a file or a directory. */
  async stat(path: string, options: CallOptions = {}): Promise<FileInfo> {
    const page = await this.#client.call<FileList>("GET", `${this.#session}/files${queryOf({ stat: path })}`, options);
    return page.files![0]!;
  }

  /** Makes a directory, and those above it. One that is there stays. */
  makeDir(path: string, options: CallOptions = {}): Promise<FileInfo> {
    return this.#client.call("PUT", this.#at(path) + "?directory=true", options);
  }

  /** Moves a file or a directory. A file that is there is a ConflictError, or with `overwrite` replaced. */
  move(path: string, to: string, options: CallOptions & { overwrite?: boolean } = {}): Promise<FileInfo> {
    return this.#client.call("PATCH", this.#at(path), { json: { path: to, overwrite: options.overwrite ?? false }, signal: options.signal });
  }

  /** Changes the permission bits of a file: octal text such as "755", or a number such as 0o755. */
  chmod(path: string, mode: string | number, options: CallOptions = {}): Promise<FileInfo> {
    return this.#client.call("PATCH", this.#at(path), { json: { mode: modeOf(mode) }, signal: options.signal });
  }

  /** Removes a file or an empty directory, and with `recursive` a directory and all in it. */
  async remove(path: string, options: CallOptions & { recursive?: boolean } = {}): Promise<void> {
    await this.#client.remove(this.#at(path) + queryOf({ recursive: options.recursive }), { signal: options.signal });
  }

  /** Yields the changes below a directory, until the directory or the sandbox is gone. */
  watch(path = "", options: CallOptions & { recursive?: boolean } = {}): AsyncGenerator<FileEvent, void, undefined> {
    const query = queryOf({ path, recursive: options.recursive ?? false });
    return this.#client.events("GET", `${this.#session}/watch${query}`, { signal: options.signal });
  }
}

/** Saves the body of a response. */
async function save(response: Response, path: string, target: string | WritableStream<Uint8Array>, { onProgress, signal }: TransferOptions): Promise<number> {
  const total = Number(response.headers.get("content-length")) || undefined;
  let size = 0;
  const counted = response.body!.pipeThrough(counting(total, (done, of) => {
    size = done;
    onProgress?.(done, of);
  }), { signal });
  try {
    if (typeof target === "string") await platform().saveFile(target, counted);
    else await counted.pipeTo(target);
  } catch (error) {
    if (signal?.aborted || !isNetwork(error)) throw signal?.aborted ? signal.reason : error;
    throw new UnavailableError(`the download of ${JSON.stringify(path)} broke off after ${size} bytes; try again`, { code: "unavailable", cause: error });
  }
  return size;
}

async function opened(source: Source): Promise<Upload> {
  if (typeof source === "string") return platform().openFile(source);
  if (source instanceof Uint8Array) source = new Blob([source as Uint8Array<ArrayBuffer>]);
  if (source instanceof Blob) return { body: source, total: source.size };
  if (source instanceof ReadableStream) return { body: source, total: undefined };
  if (typeof source?.[Symbol.asyncIterator] === "function") return { body: streamOf(source), total: undefined };
  throw new InvalidArgumentError(`it is of type ${typeof source}; give a path, a Blob, bytes or a stream`, { code: "invalid_argument", field: "source" });
}

function streamOf(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return?.();
    },
  }, { highWaterMark: 0 });
}

function counting(total: number | undefined, onProgress: Progress | undefined): TransformStream<Uint8Array, Uint8Array> {
  let done = 0;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      done += chunk.length;
      onProgress?.(done, total);
    },
  });
}

/** Reports whether an error comes from fetch: those of a file system have a code. */
const isNetwork = (error: unknown): boolean => error instanceof TypeError;
