// Package hcl is the language of template files: it reads them, writes them, and explains their faults in the way of HashiCorp's
// tools.
//
// The controller calls it for templates that arrive over the API, the command line for files on disk, and both for the templates
// that ship in the binary ([Defaults]). It turns source text into plain [yurt.Template] values, complete and valid, or into an
// [*Error] that lists every problem with its file, line, column and source line.
//
// It promises:
//
// Source text is untrusted. Its size, its nesting, the work of its expressions and the number of reported problems are all bounded
// (limits.go), so no input exhausts memory, stack or time.
//
// The same text always gives the same templates. Expressions see only the variables and locals of the text: there is no function
// that reads a file, the environment, the clock or the network.
//
// No name is ignored. A feature that Yurt knows and does not have yet is an error at its line, and so is every unknown name.
//
// It never touches the host: the node says whether a path exists or a runtime is installed. Everything here may be called
// concurrently.
//
// docs/TEMPLATES.md is the reference of the language.
package hcl
