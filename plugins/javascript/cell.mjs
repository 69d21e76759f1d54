// Makes of a cell of a notebook a script whose declarations last: what it declares at
// its top level becomes a global variable, which the next cell can declare again.
//
// Lines stay where they are, so that errors name the user's.

import { acorn, onlyDefines } from "./syntax.mjs";

// rewrite returns the script, the names that it declares, and whether it has the value
// of a last expression. The script's own value is that or, if it is asynchronous, a
// promise of it. meta is the name that import.meta goes by. With the name of a handler it also
// returns whether the cell only defines things, and that function among them.
export function rewrite(source, meta, handler) {
  const tree = acorn.parse(source, {
    ecmaVersion: "latest",
    sourceType: "script",
    allowAwaitOutsideFunction: true,
    allowImportExportEverywhere: true,
    allowHashBang: true,
  });
  const cell = new Cell(source, meta);
  tree.body.forEach((node) => cell.scan(node, true));
  const defined = handler !== undefined && source.includes(handler) && onlyDefines(tree.body, handler);
  return { ...cell.finish(tree.body), defined };
}

class Cell {
  constructor(source, meta) {
    this.source = source;
    this.meta = meta;
    this.edits = []; // [from, to, text]
    this.names = new Set();
    this.functions = [];
    this.declarations = []; // [node, parent] of what is to become global
    this.asynchronous = false;
  }

  edit(from, to, text) {
    this.edits.push([from, to, text]);
  }

  // scan looks at everything but what is in functions: what is to become global, and
  // whether there is anything to wait for.
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

  finish(body) {
    for (const [node, parent] of this.declarations) {
      if (node.type === "ImportDeclaration") this.imported(node);
      else if (node.type === "VariableDeclaration") this.variables(node, parent);
      else this.named(node);
    }
    const last = body.at(-1);
    const valued = last?.type === "ExpressionStatement" || last?.type === "ExportDefaultDeclaration";
    if (!this.asynchronous) return { code: this.apply(), before: "", names: this.names, valued };
    const names = [...this.names];
    const hoisted = this.functions.map((name) => `globalThis.${name}=${name};`).join("");
    let before = (names.length > 0 ? `var ${names.join(",")};` : "") + `(async()=>{${hoisted}`;
    if (last?.type === "ExpressionStatement") {
      // Not at the expression itself, whose columns errors name.
      if (body.length > 1) this.edit(body.at(-2).end, body.at(-2).end, ";return (");
      else before += "return (";
      this.edit(last.expression.end, last.expression.end, ")");
    }
    return { code: before + this.apply() + "\n})()", before, names: this.names, valued: last?.type === "ExpressionStatement" };
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

  // variables makes "const x = 1" to "var x = 1" or, where that would be the variable
  // of a function, to "(x = 1)".
  variables(node, parent) {
    for (const { id } of node.declarations) bound(id, this.names);
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
    // What is put in comes before what is put in place of something.
    const order = this.edits.map((edit, i) => [...edit, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[3] - b[3]);
    for (const [from, to, text] of order) {
      pieces.push(code.slice(at, from), text);
      at = to;
    }
    return pieces.join("") + code.slice(at);
  }
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
