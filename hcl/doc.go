// Package hcl is the language of template files: it reads them, writes them, and
// says what is wrong with them in the way of HashiCorp's tools.
//
// The controller calls it for templates that arrive over the API, the command
// line for files on disk, and both for the templates that ship in the binary
// ([Defaults]). It turns source text into plain [yurt.Template] values, complete
// and valid, or into an [*Error] that lists every problem with its file, line,
// column and source line.
//
// What it promises:
//   - Source text is untrusted. Its size, nesting, the work that its expressions
//     may do and the number of problems reported are all bounded (limits.go), so
//     no input exhausts memory, stack or time.
//   - The same text always gives the same templates. Expressions see only the
//     variables and locals of the text: there is no function that reads a file, the
//     environment, the clock or the network.
//   - Nothing is ignored. What Yurt knows of but does not do yet is an error at its
//     line, and so is every name that it does not know.
//
// It never touches the host: whether a path exists or a runtime is installed is
// for the node to say. Everything here may be called concurrently.
//
// docs/TEMPLATES.md is the reference of the language.
package hcl
