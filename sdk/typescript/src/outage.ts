// How long a stream of numbered events goes on without a connection.

const limit = 60_000; // milliseconds
const longestPause = 1_000; // milliseconds between two tries

/** Counts the time without a connection since the last event. Time with one makes up for as much without. */
export class Outage {
  #without = 0;
  #turned = performance.now();
  #pause = 0;

  #lap(): number {
    const turned = this.#turned;
    this.#turned = performance.now();
    return this.#turned - turned;
  }

  connected(): void {
    this.#without += this.#lap();
  }

  /** Is called when the connection is lost, which may be there from the beginning. */
  broke(): void {
    this.#without = Math.max(0, this.#without - this.#lap());
  }

  /** There is no connection, and it is time to give up. */
  get over(): boolean {
    return this.#without + performance.now() - this.#turned > limit;
  }

  /** Returns the milliseconds until the next try. */
  pause(): number {
    const pause = this.#pause;
    this.#pause = Math.min(2 * pause + 50, longestPause);
    return pause;
  }
}
