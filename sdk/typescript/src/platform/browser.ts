import { InvalidArgumentError, UnavailableError } from "../errors.js";
import type { Platform, Progress, Socket, Take } from "./platform.js";

const tokenPrefix = "yurt_session_"; // begins the session tokens of a server

function noFiles(field: string): never {
  throw new InvalidArgumentError("a browser has no files by path; give a Blob, a File or a stream", { code: "invalid_argument", field });
}

export const browser: Platform = {
  address: () => globalThis.location?.origin ?? "http://127.0.0.1:8700", // the server takes no requests from pages of other origins
  apiKey: () => undefined,
  openSocket,
  openFile: async () => noFiles("source"),
  saveFile: async () => noFiles("target"),
  startLocal: async () => {
    throw new InvalidArgumentError("a browser starts no server; give the url of one", { code: "invalid_argument", field: "local" });
  },
  put,
};

async function openSocket(url: string, headers: Readonly<Record<string, string>>, take: Take): Promise<Socket> {
  const key = headers["authorization"]?.slice("Bearer ".length);
  if (key && !key.startsWith(tokenPrefix)) {
    const why = "a browser opens no terminal with an API key; give it a token of the sandbox, by createToken";
    throw new InvalidArgumentError(why, { code: "invalid_argument", field: "apiKey" });
  }
  const socket = new WebSocket(url, key ? ["yurt", "yurt.token." + key] : []); // a page sets no header of a WebSocket
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => take(typeof data === "string" ? data : new Uint8Array(data));
  socket.onclose = () => take(undefined);
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error("the browser does not say why"));
  });
  return {
    send: (data) => socket.send(data as string | Uint8Array<ArrayBuffer>),
    close: () => socket.close(1000),
  };
}

function put(url: string, headers: Readonly<Record<string, string>>, body: Blob, onProgress: Progress, signal: AbortSignal | undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = (): void => request.abort();
    request.open("PUT", url);
    for (const [name, value] of Object.entries({ "content-type": "application/octet-stream", ...headers })) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => onProgress(loaded, body.size);
    request.onload = () => resolve(new Response(request.responseText, { status: request.status }));
    request.onerror = () => reject(new UnavailableError("the upload broke off; try again", { code: "unavailable" }));
    request.onabort = () => reject(signal?.reason);
    request.onloadend = () => signal?.removeEventListener("abort", abort);
    signal?.addEventListener("abort", abort);
    request.send(body);
  });
}
