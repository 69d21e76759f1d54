package yurt_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestEveryCodeIsListed reads the source: the tables of the transports are compared with the list, so a code that is
// missing in the list could be missing there too.
func TestEveryCodeIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []yurt.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		declared = append(declared, yurt.Code(strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)))
		return true
	})
	if len(declared) < 30 {
		t.Fatalf("found only %d codes in the source", len(declared))
	}
	listed := yurt.Codes()
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("declared %v\nlisted %v", declared, listed)
	}
	for _, code := range listed {
		if e := code.ExitCode(); e < 1 || e > 5 {
			t.Errorf("%s has the exit code %d, want 1 to 5", code, e)
		}
	}
}

func TestCodeOf(t *testing.T) {
	coded := yurt.FieldErrorf(yurt.CodeFileNotFound, "path", "opening: %w", fs.ErrNotExist)
	for _, tt := range []struct {
		err  error
		want yurt.Code
	}{
		{nil, ""},
		{coded, yurt.CodeFileNotFound},
		{fmt.Errorf("reading: %w", coded), yurt.CodeFileNotFound},
		{fmt.Errorf("waiting: %w", context.Canceled), yurt.CodeCanceled},
		{context.DeadlineExceeded, yurt.CodeDeadlineExceeded},
		{errors.New("other"), yurt.CodeInternal},
	} {
		if got := yurt.CodeOf(tt.err); got != tt.want {
			t.Errorf("the code of %v is %q, want %q", tt.err, got, tt.want)
		}
	}
	if !errors.Is(coded, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}

func TestCLIExitCodes(t *testing.T) {
	failed := func(kind string) *yurt.Result {
		return &yurt.Result{ExitCode: 1, Error: &yurt.ExecutionError{Type: kind}}
	}
	for _, tt := range []struct {
		result *yurt.Result
		want   int
	}{
		{&yurt.Result{}, 0},
		{&yurt.Result{ExitCode: 7}, 1},
		{failed("ValueError"), 1},
		{failed(yurt.ErrorTypeOutOfMemory), 1},
		{failed(yurt.ErrorTypeSyntax), 3},
		{failed("IndentationError"), 3},
		{failed(yurt.ErrorTypeHandlerNotFound), 3},
		{failed("Runtime.HandlerNotFound"), 3},
		{failed("Runtime.UserCodeSyntaxError"), 3},
		{failed("Runtime.ExitError"), 1},
		{failed(yurt.ErrorTypeTimeout), 4},
		{failed(yurt.ErrorTypeSandboxLost), 5},
	} {
		if got := tt.result.CLIExitCode(); got != tt.want {
			t.Errorf("%+v exits with %d, want %d", tt.result, got, tt.want)
		}
	}
}
