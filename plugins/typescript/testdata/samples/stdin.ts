import { text } from "node:stream/consumers";

const given: string = await text(process.stdin);
process.stdout.write(given.toUpperCase());
