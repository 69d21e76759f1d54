import { text } from "node:stream/consumers";

process.stdout.write((await text(process.stdin)).toUpperCase());
