// Package javascript is the language runtime for JavaScript, by Node 18 or later.
//
// Code is CommonJS or an ES module, by its syntax, with await at its top level; a snippet's imports
// are resolved from the working directory. A handler is an exported function of the event, or of
// event, context and callback, as AWS Lambda has them. Every plan carries harness.mjs, which runs
// the code inside the sandbox and writes the result envelope; it ends with imports.mjs, as
// kernel.mjs does. [HarnessPlan] lends it to languages that become JavaScript.
//
// A kernel is kernel.mjs, which takes requests and runs cells. compile.mjs makes a script of a cell, for which cell.mjs makes the
// declarations at its top level last. names.mjs sets global names, errors.mjs shows errors, output.mjs and stdin.mjs have the streams,
// and interrupts.mjs, with interrupter.cjs for code that does not yield, ends a running cell.
package javascript
