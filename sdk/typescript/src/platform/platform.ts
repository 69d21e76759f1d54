// The few operations that differ between Node and browsers.

/** A WebSocket that is open. */
export interface Socket {
  send(data: string | Uint8Array): void;
  close(): void;
  /** Stops and starts the arrival of messages, where the platform can. */
  pause?(): void;
  resume?(): void;
}

/** Is called with each message, and with undefined when the socket has closed. */
export type Take = (data: string | Uint8Array | undefined) => void;

/** A server that was started for one client. */
export interface LocalServer {
  url: string;
  stop(): Promise<void>;
}

export interface Upload {
  body: ReadableStream<Uint8Array> | Blob;
  total: number | undefined;
}

export type Progress = (done: number, total: number | undefined) => void;

export interface Platform {
  /** Where the server is if no address is given. */
  address(): string;
  /** The API key if none is given. */
  apiKey(): string | undefined;
  openSocket(url: string, headers: Readonly<Record<string, string>>, take: Take): Promise<Socket>;
  openFile(path: string): Promise<Upload>;
  /** Writes a file, or leaves none behind. */
  saveFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  startLocal(): Promise<LocalServer>;
  /** Sends a body as fetch does and tells the progress, where fetch cannot. */
  put?(url: string, headers: Readonly<Record<string, string>>, body: Blob, onProgress: Progress, signal: AbortSignal | undefined): Promise<Response>;
}

/** The handshake was refused with an answer. */
export class Refused extends Error {
  constructor(readonly status: number, readonly body: string, readonly retryAfter: string | undefined) {
    super(`the server answered ${status}`);
  }
}

let current: Platform;

export const platform = (): Platform => current;

/** Is called once, by the entry point of the package. */
export function use(chosen: Platform): void {
  current = chosen;
}
