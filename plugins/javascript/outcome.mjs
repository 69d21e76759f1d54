// The end of harness.mjs and of kernel.mjs in sandboxes, as its text is joined to theirs: calls of
// handlers, and the envelopes of values.

const MAX_VALUE = 8 << 20; // bytes of the value of a last expression, in JSON
const MAX_LEVELS = 900; // of lists and objects in it

// The name by which added text hands over a handler that code only declares.
const DECLARED = Symbol.for("yurt.handler");

class Failure extends Error {
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

// The context that AWS Lambda documents for Node.
function newContext(fields, deadline) {
  const context = {
    callbackWaitsForEmptyEventLoop: true,
    ...fields,
    getRemainingTimeInMillis: () => Math.max(0, Math.trunc(deadline - performance.timeOrigin - performance.now())),
  };
  return context;
}

// A handler returns its result or a promise of it, or calls back.
function callHandler(handler, event, context) {
  return new Promise((resolve, reject) => {
    const callback = (error, result) => (error === null || error === undefined ? resolve(result) : reject(error));
    context.done = callback;
    context.succeed = (result) => callback(null, result);
    context.fail = (error) => callback(error ?? new Error("the handler called fail"));
    const returned = handler(event, context, callback);
    if (typeof returned?.then === "function") returned.then(resolve, reject);
    else if (handler.length < 3) resolve(returned);
  });
}

function encodeResult(result, limit) {
  let text;
  try {
    text = stringify(result) ?? "null";
  } catch (error) {
    throw new Failure("ResultNotSerializable", `the result cannot be written as JSON: ${error.message.split("\n")[0]}`);
  }
  const size = Buffer.byteLength(text);
  if (size > limit) {
    throw new Failure("ResultTooLarge", `the result has ${size} bytes of JSON; at most ${limit} are allowed: write it to a file instead`);
  }
  return text;
}

// findFunction returns the handler from the code's exports, or else from its declarations.
function findFunction(exported, name, declared) {
  for (const object of [exported, exported?.default]) {
    if (typeof object?.[name] === "function") return object[name];
  }
  return typeof declared === "function" ? declared : null;
}

// valueEnvelope is the envelope of a last expression's value: as JSON if that holds it exactly,
// else null.
function valueEnvelope(value) {
  try {
    const fits = inJSON(value);
    const text = fits ? stringify(value) : "null";
    if (fits === null || Buffer.byteLength(text) > MAX_VALUE) return '{"result":null,"cut":true}';
    return `{"result":${text}}`;
  } catch {
    return '{"result":null}';
  }
}

// inJSON reports whether JSON can hold the value exactly, and null if the JSON would be too large.
// It reads no more than fits, so that it ends for a value that contains itself.
function inJSON(value) {
  let level = [value];
  let room = MAX_VALUE;
  for (let depth = 0; depth < MAX_LEVELS; depth++) {
    const inner = [];
    for (const item of level) {
      if (item === null || typeof item === "boolean") continue;
      if (typeof item === "string") room -= item.length;
      else if (typeof item === "number") {
        if (!Number.isFinite(item) || Object.is(item, -0)) return false;
      } else if (!isPlain(item)) return false;
      else if (Array.isArray(item)) {
        room -= 2 * item.length;
        if (room < 0) return null;
        for (const each of item) inner.push(each);
      } else {
        for (const key of Object.keys(item)) {
          room -= key.length + 5;
          if (room < 0) return null;
          inner.push(item[key]);
        }
      }
      if (room < 0) return null;
    }
    if (inner.length === 0) return true;
    level = inner;
  }
  return false;
}

// isPlain reports whether it is an array, or an object with only its members.
function isPlain(item) {
  if (typeof item !== "object" || util.types.isProxy(item) || typeof item.toJSON === "function") return false;
  if (Array.isArray(item)) return true;
  const prototype = Object.getPrototypeOf(item);
  return (prototype === null || prototype === Object.prototype) && Object.getOwnPropertySymbols(item).length === 0;
}
