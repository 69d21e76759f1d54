// Package javascript is the language runtime for JavaScript, by Node 18 or later.
//
// Code is CommonJS or an ES module, by its syntax, with await at its top level; a snippet's imports
// are resolved from the working directory. A handler is an exported function of the event, or of
// event, context and callback, as AWS Lambda has them. Every plan carries harness.mjs, which runs
// the code inside the sandbox and writes the result envelope; it ends with imports.mjs, as
// kernel.mjs does. [HarnessPlan] lends it to languages that become JavaScript.
//
// A kernel is kernel.mjs, which keeps state: cell.mjs makes the declarations at the top level of
// code last, and interrupter.cjs ends code that does not yield to an interrupt.
package javascript
