import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { UnavailableError } from "../errors.js";
import { Refused, type LocalServer, type Platform, type Socket, type Take } from "./platform.js";

const start = 60_000; // milliseconds
const chunk = 256 << 10; // bytes that an upload reads at a time

export const node: Platform = {
  address: () => process.env["YURT_SERVER"] || process.env["YURT_URL"] /* its older name */ || "http://127.0.0.1:8700",
  apiKey: () => process.env["YURT_API_KEY"],
  openSocket,
  async openFile(path) {
    const { size } = await stat(path);
    return { body: Readable.toWeb(createReadStream(path, { highWaterMark: chunk })) as ReadableStream<Uint8Array>, total: size };
  },
  async saveFile(path, chunks) {
    const partial = path + ".part";
    try {
      const file = await open(partial, "w");
      try {
        for await (const data of chunks) await file.write(data);
      } finally {
        await file.close();
      }
      await rename(partial, path);
    } finally {
      await rm(partial, { force: true });
    }
  },
  startLocal,
};

/** Opens a WebSocket of the package ws: Node has one only from version 22 on, which cannot pause. */
async function openSocket(url: string, headers: Readonly<Record<string, string>>, take: Take): Promise<Socket> {
  const { WebSocket } = await import("ws");
  const socket = new WebSocket(url, { maxPayload: 1 << 20, headers });
  socket.on("message", (data: Buffer, binary) => take(binary ? new Uint8Array(data) : data.toString()));
  socket.once("close", () => take(undefined));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve).once("error", reject).once("unexpected-response", (_request, response) => {
      const connection = response.socket;
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => (body += part)).on("error", reject);
      response.on("end", () => {
        connection.destroy(); // an open connection would keep the process alive
        reject(new Refused(response.statusCode ?? 0, body, response.headers["retry-after"]));
      });
    });
  });
  socket.on("error", () => undefined); // a close event follows
  return {
    send: (data) => socket.send(data),
    close: () => socket.close(1000),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  };
}

// A shell supervises the server: it ends the server and removes the state when this process ends in any way.
const supervisor = `
"$0" dev --listen 127.0.0.1:0 --state-dir "$1" </dev/null & server=$!
exec >/dev/null 2>&1
read -r end
kill -TERM $server
wait $server
rm -rf "$1"`;

async function startLocal(): Promise<LocalServer> {
  const program = process.env["YURT_BIN"] || "yurt";
  const state = await mkdtemp(join(tmpdir(), "yurt-local-"));
  const child = spawn("/bin/sh", ["-c", supervisor, program, state], { stdio: ["pipe", "pipe", "pipe"], detached: true });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.stdin.on("error", () => undefined); // it has ended already
  const stop = async (): Promise<void> => {
    child.ref();
    child.stdin.end();
    await ended;
  };
  const printed: string[] = [];
  const url = await new Promise<string | undefined>((resolve) => {
    setTimeout(resolve, start, undefined).unref();
    const read = (data: Buffer): void => {
      printed.splice(0, printed.length - 20);
      printed.push(data.toString());
      const found = /listens on (http:\/\/\S+)/.exec(printed.join(""));
      if (found) resolve(found[1]);
    };
    child.stdout.on("data", read).once("close", () => resolve(undefined));
    child.stderr.on("data", read);
    child.once("error", () => resolve(undefined)).once("exit", () => resolve(undefined));
  });
  if (!url) {
    await stop();
    const hint = 'put the program "yurt" on PATH, or its path in YURT_BIN';
    throw new UnavailableError(`yurt dev did not start; ${hint}:\n${printed.join("")}`, { code: "unavailable", field: "local" });
  }
  for (const part of [child, child.stdin, child.stdout, child.stderr]) (part as unknown as { unref(): void }).unref();
  return { url, stop };
}

