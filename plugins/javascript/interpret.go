package javascript

import (
	"context"
	"path"
	"regexp"
	"strconv"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Interpret implements [plugins.Interpreter].
func (Runtime) Interpret(_ context.Context, failure plugins.Failure) (*yurt.ExecutionError, error) {
	return InterpretNode(failure), nil
}

// InterpretNode reads the output of Node when harness.mjs cannot report the error: because a module
// does not compile, or because no memory is left for the report.
//
//	file:///workspace/lib.mjs:2
//	let x = = 2
//	        ^
//
//	SyntaxError: Unexpected token '='
func InterpretNode(failure plugins.Failure) *yurt.ExecutionError {
	if match := regexp.MustCompile(`(?m)^FATAL ERROR: (.*heap out of memory)$`).FindSubmatch(failure.Output); match != nil {
		return &yurt.ExecutionError{Type: "HeapOutOfMemory", Message: string(match[1]), Stacktrace: []string{}}
	}
	match := regexp.MustCompile(`(?m)^(?:file://)?(/.+):(\d+)\n.*\n( *)\^+\n(?:.*\n)??SyntaxError: (.*)$`).FindSubmatch(failure.Output)
	if match == nil {
		return nil
	}
	name, _ := failure.UserPath(string(match[1]))
	if string(match[1]) == path.Join(failure.Dir, snippet) {
		name = "main.js"
	}
	place := name + ":" + string(match[2]) + ":" + strconv.Itoa(len(match[3])+1)
	return &yurt.ExecutionError{Type: yurt.ErrorTypeSyntax, Message: place + ": " + string(match[4]), Stacktrace: []string{place}}
}
