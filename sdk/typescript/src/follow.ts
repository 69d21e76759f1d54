// Streams of numbered events that go on after a connection breaks.

import { type Yurt, sleep } from "./client.js";
import { UnavailableError, YurtError } from "./errors.js";
import { EventStream } from "./stream.js";

const reconnecting = 60_000; // milliseconds without a connection after which a stream gives up

/** Yields each event after a number, until the server says that there is no further one. */
export async function* follow<T extends { seq: number }>(
  client: Yurt, path: string, after: number, signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  let end = Date.now() + reconnecting;
  for (let pause = 0; ; pause = Math.min(2 * pause + 50, 1000)) {
    const response = await connect(client, path, after, end, signal);
    if (response?.status === 204) return;
    if (response) {
      const began = Date.now();
      const stream = new EventStream(response, signal);
      try {
        for (let data; (data = await next(stream)) !== undefined; pause = 0) {
          const event = JSON.parse(data) as T;
          after = event.seq;
          yield event;
        }
      } finally {
        await stream.close();
      }
      end += Date.now() - began;
    }
    signal?.throwIfAborted();
    await sleep(pause, signal);
  }
}

/** Returns the answer of a new connection, or undefined where there is none and there is time for another try. */
async function connect(client: Yurt, path: string, after: number, end: number, signal?: AbortSignal): Promise<Response | undefined> {
  const headers = { accept: "text/event-stream", "last-event-id": String(after) };
  try {
    return await client.send("GET", path, { headers, signal });
  } catch (error) {
    if (error instanceof UnavailableError && Date.now() < end && !signal?.aborted) return undefined;
    throw error;
  }
}

/** Returns the data of the next event, or undefined at the end of a connection, also of one that broke. */
async function next(stream: EventStream): Promise<string | undefined> {
  try {
    return await stream.next();
  } catch (error) {
    if (error instanceof YurtError) throw error;
    return undefined;
  }
}
