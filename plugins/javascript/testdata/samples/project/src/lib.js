exports.say = (text) => console.log("lib: " + text);
