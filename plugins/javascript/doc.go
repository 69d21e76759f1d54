// Package javascript is the language runtime for JavaScript, by Node 18 or later.
//
// Code is CommonJS or an ES module, whichever it is written as, with await at its top
// level; a snippet finds what it imports from the working directory. A handler is an
// exported function of the event, or of event, context and callback, as AWS Lambda has
// them. Every plan carries harness.mjs, which runs the code inside the sandbox and
// writes the result envelope; it ends with imports.mjs, as kernel.mjs does. [HarnessPlan]
// lends it to languages that become JavaScript.
//
// A kernel is kernel.mjs, which keeps state: cell.mjs makes what code declares at its top
// level last, and interrupter.cjs ends what does not yield to an interrupt.
package javascript
