// Analyses the syntax tree of code. Read only if the code contains the name of a handler or may end
// in an expression: the parser takes milliseconds to load.

import { createRequire } from "node:module";

// Node's own parser, which its REPL uses too.
export const acorn = createRequire(import.meta.url)("internal/deps/acorn/acorn/dist/acorn");

export function parse(source) {
  return acorn.parse(source, {
    ecmaVersion: "latest",
    sourceType: "script",
    allowAwaitOutsideFunction: true,
    allowReturnOutsideFunction: true,
    allowImportExportEverywhere: true,
    allowHashBang: true,
  });
}

// onlyDefines reports whether the statements are imports, functions, classes and assignments of
// literals, and one of them makes the name a function.
export function onlyDefines(body, name) {
  return body.every(defines) && body.some((node) => makes(node, name));
}

// lastExpression returns the range of the last statement, without its semicolon, if it is an expression.
export function lastExpression(source, body) {
  const last = body.at(-1);
  if (last?.type !== "ExpressionStatement") return null;
  return { start: last.start, end: source[last.end - 1] === ";" ? last.end - 1 : last.end, line: lineOf(source, last.start), column: columnOf(source, last.start) };
}

function lineOf(source, at) {
  return source.slice(0, at).split(/\r\n|[\n\r\u2028\u2029]/).length;
}

function columnOf(source, at) {
  return source.slice(0, at).split(/\r\n|[\n\r\u2028\u2029]/).at(-1).length;
}

function defines(node) {
  switch (node?.type) {
    case "EmptyStatement":
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "FunctionDeclaration":
    case "ClassDeclaration":
      return true;
    case "VariableDeclaration":
      return node.declarations.every(({ init }) => init === null || isDefinite(init));
    case "ExportNamedDeclaration":
      return node.declaration === null || defines(node.declaration);
    case "ExportDefaultDeclaration":
      return defines(node.declaration) || isDefinite(node.declaration);
    case "ExpressionStatement":
      return node.directive !== undefined || exports(node.expression);
  }
  return false;
}

// exports reports whether an expression is an assignment to exports.
function exports(node) {
  return node.type === "AssignmentExpression" && node.operator === "=" && isExports(node.left) && (isDefinite(node.right) || exports(node.right));
}

function isExports(node) {
  if (node.type === "Identifier") return node.name === "exports";
  if (node.type !== "MemberExpression" || node.computed) return false;
  return isExports(node.object) || (node.object.type === "Identifier" && node.object.name === "module" && node.property.name === "exports");
}

function isFunction(node) {
  return node?.type === "FunctionExpression" || node?.type === "ArrowFunctionExpression";
}

// isDefinite reports whether the value is a literal, a function, a class, a name, or a member of a
// module.
function isDefinite(node) {
  switch (node?.type) {
    case "Literal":
    case "Identifier":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
    case "ClassExpression":
    case "ImportExpression":
      return true;
    case "TemplateLiteral":
      return node.expressions.length === 0;
    case "ArrayExpression":
      return node.elements.every((element) => element === null || isDefinite(element));
    case "ObjectExpression":
      return node.properties.every((property) => property.type === "Property" && !property.computed && isDefinite(property.value));
    case "UnaryExpression":
      return node.operator !== "delete" && isDefinite(node.argument);
    case "BinaryExpression": // 60 * 60
      return [node.left, node.right].every((side) => ["Literal", "BinaryExpression"].includes(side.type) && isDefinite(side));
    case "AwaitExpression":
      return node.argument.type === "ImportExpression";
    case "MemberExpression":
      return !node.computed && isRequire(node.object);
    case "CallExpression":
      return isRequire(node) || isEnum(node);
  }
  return false;
}

function isRequire(node) {
  return node.type === "CallExpression" && node.callee.type === "Identifier" && node.callee.name === "require" && node.arguments.length === 1 && node.arguments[0].type === "Literal";
}

// isEnum recognises a compiled enum of TypeScript: ((E) => {…})(E || {}).
function isEnum(node) {
  const [given] = node.arguments;
  return isFunction(node.callee) && node.arguments.length === 1 && given.type === "LogicalExpression" && given.left.type === "Identifier" && given.right.type === "ObjectExpression" && given.right.properties.length === 0;
}

// makes reports whether a statement makes the name a function, as far as the tree shows.
function makes(node, name) {
  switch (node.type) {
    case "FunctionDeclaration":
      return node.id?.name === name;
    case "ImportDeclaration":
      return node.specifiers.some(({ local }) => local.name === name);
    case "VariableDeclaration":
      return node.declarations.some(({ id, init }) => (id.type === "Identifier" ? id.name === name && mayBeFunction(init) : binds(id, name)));
    case "ExportNamedDeclaration":
      return node.declaration ? makes(node.declaration, name) : node.specifiers.some(({ exported }) => (exported.name ?? exported.value) === name);
    case "ExportDefaultDeclaration":
      return makes(node.declaration, name) || hasMember(node.declaration, name);
    case "ExpressionStatement":
      return node.directive === undefined && exportsName(node.expression, name);
  }
  return false;
}

function exportsName({ left, right }, name) {
  if (left.type === "MemberExpression" && left.property.name === name) return mayBeFunction(right) || right.type === "AssignmentExpression";
  return right.type === "AssignmentExpression" ? exportsName(right, name) : hasMember(right, name);
}

function mayBeFunction(node) {
  return isFunction(node) || node?.type === "Identifier" || node?.type === "MemberExpression";
}

function hasMember(node, name) {
  return node.type === "ObjectExpression" && node.properties.some(({ key, value }) => (key.name ?? key.value) === name && mayBeFunction(value));
}

function binds(pattern, name) {
  return pattern.type === "ObjectPattern" && pattern.properties.some(({ value }) => value?.type === "Identifier" && value.name === name);
}
