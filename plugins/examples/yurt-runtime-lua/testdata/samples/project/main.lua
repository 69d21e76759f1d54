local lib = require("lib")

for _, argument in ipairs({...}) do lib.say(argument) end
