// Streams of numbered events that continue after a connection breaks.

import { type Yurt, sleep } from "./client.js";
import { UnavailableError, YurtError } from "./errors.js";
import { Outage } from "./outage.js";
import { EventStream } from "./stream.js";

/** Yields each event after a number, until the server says that the stream has ended. */
export async function* follow<T extends { seq: number }>(
  client: Yurt, path: string, after: number, signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for (let outage = new Outage(); ; ) {
    const response = await connect(client, path, after, signal);
    if (!(response instanceof UnavailableError)) {
      if (response.status === 204) return;
      outage.connected();
      const stream = new EventStream(response, signal);
      try {
        for (let data; (data = await next(stream)) !== undefined; ) {
          const event = JSON.parse(data) as T;
          after = event.seq;
          outage = new Outage();
          yield event;
        }
      } finally {
        await stream.close();
      }
      outage.broke();
    }
    signal?.throwIfAborted();
    if (outage.over) throw response instanceof UnavailableError ? response : brokenOff();
    await sleep(outage.pause(), signal);
  }
}

const brokenOff = (): Error => new UnavailableError("the stream broke off and could not be resumed; follow it again", { code: "unavailable" });

/** Returns the response of a new connection, or the error if no server answers. */
async function connect(client: Yurt, path: string, after: number, signal?: AbortSignal): Promise<Response | UnavailableError> {
  const headers = { accept: "text/event-stream", "last-event-id": String(after) };
  try {
    return await client.send("GET", path, { headers, signal });
  } catch (error) {
    if (error instanceof UnavailableError && !signal?.aborted) return error;
    throw error;
  }
}

/** Returns the data of the next event, or undefined if the connection has ended or broken. */
async function next(stream: EventStream): Promise<string | undefined> {
  try {
    return await stream.next();
  } catch (error) {
    if (error instanceof YurtError) throw error;
    return undefined;
  }
}
