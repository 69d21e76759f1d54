// The few operations that differ between Node and browsers.

/** An open WebSocket. */
export interface Socket {
  send(data: string | Uint8Array): void;
  close(): void;
  /** Stops and starts the arrival of messages, if the platform can. */
  pause?(): void;
  resume?(): void;
}

/** Called with each message, and with undefined after the socket has closed. */
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
  /** The default address of the server. */
  address(): string;
  /** The default API key. */
  apiKey(): string | undefined;
  openSocket(url: string, headers: Readonly<Record<string, string>>, take: Take): Promise<Socket>;
  openFile(path: string): Promise<Upload>;
  /** Writes a file. A failure leaves no file behind. */
  saveFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  startLocal(): Promise<LocalServer>;
  /** Sends a body like fetch and reports the progress, on platforms whose fetch cannot. */
  put?(url: string, headers: Readonly<Record<string, string>>, body: Blob, onProgress: Progress, signal: AbortSignal | undefined): Promise<Response>;
}

/** The server has refused the handshake with a response. */
export class Refused extends Error {
  constructor(readonly status: number, readonly body: string, readonly retryAfter: string | undefined) {
    super(`the server answered ${status}`);
  }
}

let current: Platform;

export const platform = (): Platform => current;

/** Sets the platform. The package's entry point calls it once. */
export function use(chosen: Platform): void {
  current = chosen;
}
