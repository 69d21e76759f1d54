package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/internal/httpcode"
)

// ExitError ends the program with an exit code and no message: the user's own program or the
// command has printed the reason.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// problem is an error under --json, in the shape that the REST API gives (RFC 9457).
type problem struct {
	Title  string    `json:"title"`
	Status int       `json:"status"`
	Detail string    `json:"detail"`
	Code   yurt.Code `json:"code"`
	Field  string    `json:"field,omitempty"`
}

// Report prints the error for the user and returns the exit code for it.
func (a *App) Report(err error) int {
	var exit ExitError
	switch {
	case err == nil:
		return yurt.ExitOK
	case errors.As(err, &exit):
		return int(exit)
	}
	var template *hcl.Error
	if errors.As(err, &template) && !a.JSON {
		fmt.Fprintln(a.Stderr, strings.TrimRight(template.Text(a.Told().Color), "\n"))
		return yurt.CodeOf(err).ExitCode()
	}
	if parts := joined(err); parts != nil && !a.JSON {
		worst := yurt.ExitOK
		for _, err := range parts {
			worst = max(worst, a.Report(err))
		}
		return worst
	}
	code := yurt.CodeOf(err)
	switch {
	case a.JSON:
		a.reportProblem(err, code)
	case code == yurt.CodeCanceled:
		fmt.Fprintln(a.Stderr, "yurt: interrupted")
	default:
		fmt.Fprintln(a.Stderr, a.Told().Paint(screen.Red, "yurt:")+" "+strings.TrimRight(err.Error(), "\n"))
	}
	var initial initError
	if errors.As(err, &initial) {
		return yurt.ExitSandboxFailed
	}
	return code.ExitCode()
}

// joined returns the errors that err was joined from, and nil where it says more than they do: a list
// that lies deeper, such as a library's, has its explanation around it.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // of this error alone
	if !ok || errors.Join(several.Unwrap()...).Error() != err.Error() {
		return nil
	}
	return several.Unwrap()
}

func (a *App) reportProblem(err error, code yurt.Code) {
	p := problem{Title: http.StatusText(httpcode.Of(code)), Status: httpcode.Of(code), Detail: err.Error(), Code: code}
	var coded *yurt.Error
	if errors.As(err, &coded) {
		p.Field = coded.Field
	}
	encoder := json.NewEncoder(a.Stderr)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p); err != nil {
		fmt.Fprintln(a.Stderr, "yurt: "+err.Error())
	}
}

// initError is an error that kept a sandbox from being made. For every code, its exit code says
// that the user's own code never ran.
type initError struct{ error }

func (e initError) Unwrap() error { return e.error }

// InitFailure marks an error that kept a sandbox from being made, unless the user interrupted it.
func InitFailure(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if yurt.CodeOf(err) == yurt.CodeInternal {
		err = yurt.Errorf(yurt.CodeSandboxFailed, "the sandbox could not be made: %w; run \"yurt doctor\" to see what this host lacks", err)
	}
	return initError{err}
}
