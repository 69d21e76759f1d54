// Package python is the language runtime for Python.
//
// It plans runs of /usr/bin/python3 (3.8 or later) and brings its own harness, two Python files
// that every plan carries: harness.py, which begins with shared.py, runs the user's code or calls
// the handler in it and writes the result envelope; report.py explains failures. The package itself
// runs no process. Code runs as a script, __main__, whose exit code and uncaught exception are
// those of the run. A handler is a function of the event, or of event and context, synchronous or
// not; its result must be exactly representable in JSON. Files of the working directory can be
// imported in both.
package python
