const { say } = require("./src/lib");

for (const argument of process.argv.slice(2)) say(argument);
