console.log("never");

const x = = 2;
