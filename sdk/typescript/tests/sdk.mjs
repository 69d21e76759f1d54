// The installed package, in the form that the test asks for.

import { createRequire } from "node:module";

export const sdk = process.env.YURT_FORM === "cjs" ? createRequire(import.meta.url)("@yurt/sandbox") : await import("@yurt/sandbox");
