// Makes a script of a cell, or says where its code is wrong.

import vm from "node:vm";
import { rewrite } from "./cell.mjs";
import { Refused } from "./errors.mjs";
import { original, remember } from "./places.mjs";
import { parse } from "./syntax.mjs";

const META = "globalThis[Symbol.for('yurt.meta')]";

// compile returns the script of a cell in the form of rewrite. Code is JavaScript where typescript is null.
export async function compile(source, filename, handler, typescript) {
  let [code, find, made] = [asExpression(source), null, null];
  if (typescript) {
    const erased = await typescript.erase(code, filename, Refused);
    ({ code, find, made } = erased);
  }
  try {
    const cell = rewrite(code, META, handler, made);
    const before = original(code, cell.edits);
    const lines = code.split(/\r\n|[\n\r\u2028\u2029]/).length;
    remember(filename, find ? (line, column) => find(...before(line, column)) : before, lines + 1);
    return cell;
  } catch (error) {
    if (!(error instanceof SyntaxError) || !error.loc) throw error;
    return compileAsItIs(code, filename, error, find);
  }
}

// asExpression makes a cell that is only an object, { a: 1 }, an expression and not a block.
function asExpression(source) {
  if (!/^\s*\{/.test(source) || !/\}\s*$/.test(source)) return source;
  try {
    parse(`(${source})`);
    return `(${source})`;
  } catch {
    return source;
  }
}

// compileAsItIs compiles syntax that V8 knows and the parser does not.
function compileAsItIs(source, filename, error, find) {
  try {
    new vm.Script(source, { filename });
    if (find) remember(filename, find);
    return { code: source, before: "", names: new Set(), valued: true, defined: false, constants: [], assigned: [] };
  } catch {
    const [line, column] = [error.loc.line, error.loc.column + 1];
    throw new Refused(reason(source, error), filename, source, ...(find ? find(line, column) : [line, column]));
  }
}

// reason is V8's message about wrong code, which says more than the parser's.
function reason(source, error) {
  if (source.trimEnd().length <= error.pos) return "Unexpected end of input";
  if (!/^\s*(import|export)\b/m.test(source)) {
    try {
      new vm.Script(`(async () => {${source}\n})`);
    } catch ({ message }) {
      return message;
    }
  }
  return error.message.replace(/ \(\d+:\d+\)$/, "");
}
