// Reads the source maps that esbuild makes.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// places returns a function from a line and a column of the JavaScript to those of the
// TypeScript, all from 1. It reads the source map when it is first asked.
export function places(map) {
  let lines = null;
  return (line, column) => {
    lines ??= segments(JSON.parse(map).mappings);
    let found = null;
    for (const segment of lines[line - 1] ?? []) {
      if (segment[0] > column - 1) break;
      found = segment;
    }
    found ??= lines[line - 1]?.[0];
    return found ? [found[1] + 1, found[2] + 1] : [line, column];
  };
}

// segments returns, for each line, lists of its column and the line and column of the source.
function segments(mappings) {
  let [line, column] = [0, 0];
  return mappings.split(";").map((text) => {
    let generated = 0;
    return text.split(",").filter(Boolean).map((segment) => {
      const numbers = vlq(segment);
      generated += numbers[0];
      line += numbers[2] ?? 0;
      column += numbers[3] ?? 0;
      return [generated, line, column];
    });
  });
}

function vlq(text) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const character of text) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}
