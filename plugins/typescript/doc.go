// Package typescript is the language runtime for TypeScript, by esbuild and Node.
//
// A compile step has esbuild take the types away and bundle the code's imports from the project and
// its node_modules; the result runs as JavaScript does, with the lines of the TypeScript in its
// errors. Types are not checked. esbuild works inside the sandbox: its input is untrusted.
//
// A kernel is that of JavaScript. erase.mjs has esbuild, as a service, take the types out of
// each cell; typescript.mjs loads the files in TypeScript that cells import.
package typescript
