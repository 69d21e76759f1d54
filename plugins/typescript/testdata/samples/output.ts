import fs from "node:fs";
for (;;) fs.writeSync(1, ("x" as string).repeat(1000) + "\n");
