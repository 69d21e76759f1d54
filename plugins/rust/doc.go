// Package rust is the language runtime for Rust.
//
// A snippet is a program, or the body of its main function. A project without a Cargo.toml is its
// entry and the modules that this names, built by rustc; one with a Cargo.toml above its entry is
// built by cargo, which takes dependencies only from the sandbox. The standard library is linked
// dynamically, which takes half the time. Panics, and errors that main returns, become the error of
// the execution.
package rust
