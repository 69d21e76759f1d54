console.log("never");

const x: number = = 2;
