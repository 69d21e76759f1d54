// Rewrites a notebook cell as a script whose declarations last: a top-level declaration
// becomes a global variable, which the next cell can declare again.
//
// Lines keep their numbers, so that errors name the user's lines.

import { acorn, onlyDefines } from "./syntax.mjs";

// The kernel's function that makes global variables constant.
const GUARD = "globalThis[Symbol.for('yurt.constant')]";

// rewrite returns the script, the names that it declares, and whether the cell ends in an
// expression. The script's value is that of the expression or, if the script is asynchronous, a
// promise of it. meta is the name that replaces import.meta. With the name of a handler, rewrite
// also returns whether the cell only defines things, the handler among them. It returns the names
// of the constants and of the variables that the cell assigns to. For compiled TypeScript, made
// tells which top-level names esbuild made; they do not last.
export function rewrite(source, meta, handler, made = null) {
  const tree = acorn.parse(source, {
    ecmaVersion: "latest",
    sourceType: "script",
    allowAwaitOutsideFunction: true,
    allowImportExportEverywhere: true,
    allowHashBang: true,
  });
  const cell = new Cell(source, meta, made);
  tree.body.forEach((node) => cell.scan(node, true));
  const defined = handler !== undefined && source.includes(handler) && onlyDefines(tree.body, handler);
  return { ...cell.finish(tree.body), defined };
}

class Cell {
  constructor(source, meta, made) {
    this.source = source;
    this.meta = meta;
    this.made = made;
    this.edits = []; // [from, to, text]
    this.names = new Set();
    this.functions = [];
    this.constants = new Set();
    this.assigned = new Set(); // in any scope
    this.local = []; // names that only this cell has
    this.declarations = []; // [node, parent] that become global
    this.asynchronous = false;
  }

  edit(from, to, text) {
    this.edits.push([from, to, text]);
  }

  // scan visits all nodes outside functions and notes the declarations that become global, and
  // whether the code awaits.
  scan(node, top, parent = null) {
    switch (node.type) {
      case "AwaitExpression":
        this.asynchronous = true;
        break;
      case "ForOfStatement":
        this.asynchronous ||= node.await;
        break;
      case "ImportDeclaration":
        this.asynchronous = true;
        this.declarations.push([node, parent]);
        return;
      case "ExportAllDeclaration":
        this.asynchronous = true;
        this.edit(node.start, node.end, `await import(${this.text(node.source)});`);
        return;
      case "ExportNamedDeclaration":
        return this.scanExport(node, top);
      case "ExportDefaultDeclaration":
        return this.scanDefault(node, top);
      case "VariableDeclaration":
        if (top || node.kind === "var") this.declarations.push([node, parent]);
        break;
      case "ClassDeclaration":
      case "FunctionDeclaration":
        if (top) this.declarations.push([node, parent]);
        break;
    }
    this.children(node);
  }

  scanExport(node, top) {
    if (node.declaration) {
      this.blank(node.start, node.declaration.start);
      return this.scan(node.declaration, top);
    }
    if (node.source) this.asynchronous = true;
    this.edit(node.start, node.end, (node.source ? `await import(${this.text(node.source)})` : "") + ";" + this.breaks(node));
  }

  scanDefault(node, top) {
    const declared = node.declaration;
    this.blank(node.start, declared.start);
    if (declared.id && /Declaration$/.test(declared.type)) return this.scan(declared, top);
    this.edit(declared.start, declared.start, ";(");
    this.edit(declared.end, declared.end, ");");
    this.children(declared);
  }

  children(node) {
    if (/Function/.test(node.type)) return this.below(node, true);
    this.below(node, false);
  }

  below(node, inFunction) {
    noteAssigned(node, this.assigned);
    for (const key of Object.keys(node)) {
      for (const child of Array.isArray(node[key]) ? node[key] : [node[key]]) {
        if (typeof child?.type !== "string") continue;
        if (child.type === "MetaProperty" && child.meta.name === "import") this.edit(child.start, child.end, this.meta);
        else if (inFunction || child.type === "StaticBlock" || (node.type === "PropertyDefinition" && key === "value")) this.below(child, true);
        else this.scan(child, false, node);
      }
    }
  }

  text(node) {
    return this.source.slice(node.start, node.end);
  }

  breaks(node) {
    return this.text(node).replace(/[^\n]/g, "");
  }

  blank(from, to) {
    this.edit(from, to, this.source.slice(from, to).replace(/[^\n]/g, " "));
  }

  // keepApart keeps names that esbuild made from becoming global: the next cell has the same names
  // for other values. An enum or a namespace is not merged with an earlier cell's.
  keepApart(body) {
    const all = new Set();
    for (const [node] of this.declarations) declared(node, all);
    this.local = [...all].filter(this.made);
    if (this.local.length > 0) this.asynchronous = true;
    const begun = new Set();
    for (const node of body) {
      const added = addsTo(node);
      if (added && all.has(added.name) && !begun.has(added.name)) this.edit(added.start, added.end, "null");
      if (added) begun.add(added.name);
      if (node.type !== "VariableDeclaration") declared(node.declaration ?? node, begun);
    }
  }

  finish(body) {
    if (this.made !== null) this.keepApart(body);
    const script = this.script(body);
    return { ...script, constants: this.constants, assigned: this.assigned };
  }

  script(body) {
    for (const [node, parent] of this.declarations) {
      if (node.type === "ImportDeclaration") this.imported(node);
      else if (node.type === "VariableDeclaration") this.variables(node, parent);
      else this.named(node);
    }
    for (const name of this.local) this.names.delete(name);
    const last = body.at(-1);
    const helps = this.made !== null && isHelper(last);
    const valued = !helps && (last?.type === "ExpressionStatement" || last?.type === "ExportDefaultDeclaration");
    if (!this.asynchronous) return { ...this.apply(), before: "", names: this.names, valued };
    const names = [...this.names];
    const hoisted = this.functions.map((name) => `globalThis.${name}=${name};`).join("");
    let before = (names.length > 0 ? `var ${names.join(",")};` : "") + `(async()=>{${hoisted}`;
    if (this.local.length > 0) before += `var ${this.local.join(",")};`;
    if (valued && last.type === "ExpressionStatement") {
      // Not at the expression itself, whose columns errors name.
      if (body.length > 1) this.edit(body.at(-2).end, body.at(-2).end, ";return (");
      else before += "return (";
      this.edit(last.expression.end, last.expression.end, ")");
    }
    const { code, edits } = this.apply();
    return { code: before + code + "\n})()", edits, before, names: this.names, valued: valued && last.type === "ExpressionStatement" };
  }

  named(node) {
    this.names.add(node.id.name);
    if (node.type === "ClassDeclaration") {
      this.edit(node.start, node.start, (this.asynchronous ? "" : "var ") + node.id.name + " = ");
      this.edit(node.end, node.end, ";");
    } else if (this.asynchronous) {
      this.functions.push(node.id.name);
    }
  }

  // variables turns "const x = 1" into "var x = 1" or, where var would be local to a
  // function, into "(x = 1)".
  variables(node, parent) {
    for (const { id } of node.declarations) bound(id, this.names);
    if (node.kind === "const") this.constant(node);
    const first = node.declarations[0].start;
    const loop = /^For(In|Of)Statement$/.test(parent?.type) && parent.left === node;
    for (const { id, init } of node.declarations) {
      if (!init && !loop && node.kind !== "var") this.edit(id.end, id.end, " = undefined");
    }
    if (!this.asynchronous) return this.edit(node.start, node.start + node.kind.length, "var".padEnd(node.kind.length));
    if (loop || (parent?.type === "ForStatement" && parent.init === node)) return this.blank(node.start, first);
    this.edit(node.start, first, "void (" + this.source.slice(node.start + node.kind.length, first));
    const semicolon = this.source[node.end - 1] === ";";
    this.edit(semicolon ? node.end - 1 : node.end, node.end, ");");
  }

  // constant makes the kernel guard the constants that code may assign to. Reading a guarded name
  // is slower, so the other constants are plain variables.
  constant(node) {
    const names = new Set();
    declared(node, names);
    for (const name of names) this.constants.add(name);
    const guarded = [...names].filter((name) => this.assigned.has(name));
    if (guarded.length > 0) this.edit(node.end, node.end, `;${GUARD}(${JSON.stringify(guarded)});`);
  }

  imported(node) {
    const from = `await import(${this.text(node.source)}${this.attributes(node)})`;
    const parts = [];
    let namespace = null;
    for (const { type, imported, local } of node.specifiers) {
      this.names.add(local.name);
      if (type === "ImportNamespaceSpecifier") namespace = local.name;
      else parts.push(`${type === "ImportDefaultSpecifier" ? "default" : this.text(imported)}:${local.name}`);
    }
    let text = from;
    if (namespace !== null) text = `${namespace}=${from}` + (parts.length > 0 ? `,{${parts}}=${namespace}` : "");
    else if (parts.length > 0) text = `{${parts}}=${from}`;
    this.edit(node.start, node.end, `;(${text});` + this.breaks(node));
  }

  attributes(node) {
    const list = node.attributes ?? [];
    return list.length === 0 ? "" : `,{with:{${list.map((attribute) => this.text(attribute))}}}`;
  }

  apply() {
    let code = this.source.startsWith("#!") ? "//" + this.source.slice(2) : this.source;
    const pieces = [];
    let at = 0;
    // At the same place, insertions come before replacements.
    const order = this.edits.map((edit, i) => [...edit, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[3] - b[3]);
    for (const [from, to, text] of order) {
      pieces.push(code.slice(at, from), text);
      at = to;
    }
    return { code: pieces.join("") + code.slice(at), edits: order };
  }
}

// noteAssigned adds the names that a statement or an expression assigns to.
function noteAssigned(node, names) {
  if (node.type === "AssignmentExpression") bound(node.left, names);
  else if (node.type === "UpdateExpression") bound(node.argument, names);
  else if (/^For(In|Of)Statement$/.test(node.type)) bound(node.left, names);
}

// declared adds the names of a declaration.
function declared(node, names) {
  if (node.type === "VariableDeclaration") for (const { id } of node.declarations) bound(id, names);
  else if (node.id) names.add(node.id.name);
  else if (node.type === "ImportDeclaration") for (const { local } of node.specifiers) names.add(local.name);
}

// addsTo returns X of a compiled enum or namespace of TypeScript,
// ((X2) => {…})(X || {}) or (X || (X = {})), in a declaration or alone.
function addsTo(node) {
  node = node.declaration ?? node;
  const call = node.type === "VariableDeclaration" ? node.declarations[0].init : node.expression;
  const [given] = call?.type === "CallExpression" && /Function/.test(call.callee.type) ? call.arguments : [];
  return given?.type === "LogicalExpression" && given.left.type === "Identifier" ? given.left : null;
}

// isHelper reports whether a statement is esbuild's call of a decorator.
function isHelper(node) {
  if (node?.type !== "ExpressionStatement") return false;
  const call = node.expression.type === "AssignmentExpression" ? node.expression.right : node.expression;
  return call.type === "CallExpression" && /^__(decorat|runInit|private|publicField)/.test(call.callee.name ?? "");
}

// bound adds the names that a pattern binds.
function bound(pattern, names) {
  switch (pattern?.type) {
    case "Identifier":
      names.add(pattern.name);
      break;
    case "ObjectPattern":
      for (const property of pattern.properties) bound(property.value ?? property.argument, names);
      break;
    case "ArrayPattern":
      for (const element of pattern.elements) bound(element, names);
      break;
    case "AssignmentPattern":
      bound(pattern.left, names);
      break;
    case "RestElement":
      bound(pattern.argument, names);
      break;
  }
}
