// The time limit of a stream of numbered events without a connection.

const limit = 60_000; // milliseconds
const longestPause = 1_000; // milliseconds between two tries

/** Counts the time without a connection since the last event. Time with one cancels as much time without. */
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

  /** Notes that the connection is lost. A new outage begins with a connection. */
  broke(): void {
    this.#without = Math.max(0, this.#without - this.#lap());
  }

  /** Whether the time without a connection has reached the limit. */
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
