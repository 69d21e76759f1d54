package main

import (
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

// exitError ends the program with an exit code and no message: the user's own program or the
// command has printed the reason.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// problem is an error under --json, in the shape that the REST API gives (RFC 9457).
type problem struct {
	Title  string    `json:"title"`
	Status int       `json:"status"`
	Detail string    `json:"detail"`
	Code   yurt.Code `json:"code"`
	Field  string    `json:"field,omitempty"`
}

// report prints the error for the user and returns the exit code for it.
func (a *app) report(err error) int {
	var exit exitError
	switch {
	case err == nil:
		return yurt.ExitOK
	case errors.As(err, &exit):
		return int(exit)
	}
	var template *hcl.Error
	if errors.As(err, &template) && !a.json {
		fmt.Fprintln(a.stderr, strings.TrimRight(template.Text(a.told().Color), "\n"))
		return yurt.CodeOf(err).ExitCode()
	}
	if parts := joined(err); parts != nil && !a.json {
		worst := yurt.ExitOK
		for _, err := range parts {
			worst = max(worst, a.report(err))
		}
		return worst
	}
	code := yurt.CodeOf(err)
	switch {
	case a.json:
		a.reportProblem(err, code)
	case code == yurt.CodeCanceled:
		fmt.Fprintln(a.stderr, "yurt: interrupted")
	default:
		fmt.Fprintln(a.stderr, a.told().Paint(screen.Red, "yurt:")+" "+strings.TrimRight(err.Error(), "\n"))
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

func (a *app) reportProblem(err error, code yurt.Code) {
	p := problem{Title: http.StatusText(httpcode.Of(code)), Status: httpcode.Of(code), Detail: err.Error(), Code: code}
	var coded *yurt.Error
	if errors.As(err, &coded) {
		p.Field = coded.Field
	}
	encoder := json.NewEncoder(a.stderr)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p); err != nil {
		fmt.Fprintln(a.stderr, "yurt: "+err.Error())
	}
}
