package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

// PassOn writes the program's output to the same stream of ours, and the response that a Lambda
// function streams to standard output.
func (a *App) PassOn(event yurt.Event) error {
	out := a.Stdout
	switch event.Type {
	case yurt.EventStdout, yurt.EventResponse:
	case yurt.EventStderr, yurt.EventProgress:
		out = a.Stderr
	case yurt.EventDisplay:
		if len(event.Display.Data) == 0 { // it only takes back an earlier display
			return nil
		}
		var text string
		if err := json.Unmarshal(event.Display.Data["text/plain"], &text); err != nil {
			text = "[shown in a way that a terminal cannot]"
		}
		event.Data = []byte(text + "\n")
	case yurt.EventGap:
		out, event.Data = a.Stderr, []byte("yurt: some of what it printed is not kept any more\n")
	default:
		return nil
	}
	if _, err := out.Write(event.Data); err != nil {
		return fmt.Errorf("passing on output: %w", err)
	}
	return nil
}

// Shower passes the events of an execution on, unless its result is to be printed as JSON, which
// holds it all, and then shows the outcome.
type Shower struct {
	*App
	Kind     yurt.ExecutionKind
	Limit    yurt.Size // of each stream, where it is known
	streamed bool      // the response came in pieces, and has been shown
	Values   bool      // the value of a last expression is to be shown, too
	progress bool      // so was the output of a package manager

	Wait  *screen.Wait // shows the reason for the wait
	ahead string       // before the code runs
}

// Each passes an event on.
func (s *Shower) Each(event yurt.Event) error {
	s.streamed = s.streamed || event.Type == yurt.EventResponse
	if s.JSON {
		return nil
	}
	s.progress = s.progress || event.Type == yurt.EventProgress
	s.follow(event)
	return s.PassOn(event)
}

// Profile says where the time of yurt run went, as its caller saw it.
type Profile struct {
	begun         time.Time
	WallMS        float64            `json:"wall_ms"` // from reading the file to the result
	SandboxMS     float64            `json:"sandbox_ms"`
	ExecutionMS   float64            `json:"execution_ms"`
	CPUMS         float64            `json:"cpu_ms"`
	MemoryPeak    int64              `json:"memory_peak_bytes"`
	SandboxPhases map[string]float64 `json:"sandbox_phases_ms,omitempty"`
	RunPhases     map[string]float64 `json:"execution_phases_ms,omitempty"`
}

// NewProfile begins a profile of a run.
func NewProfile() *Profile { return &Profile{begun: time.Now()} }

// SandboxReady notes that the sandbox is there.
func (p *Profile) SandboxReady(sandbox yurt.Sandbox) {
	p.SandboxMS = milliseconds(time.Since(p.begun))
	p.SandboxPhases = sandbox.Phases
}

// Ended notes the result of the run.
func (p *Profile) Ended(result *yurt.Result) {
	p.WallMS = milliseconds(time.Since(p.begun))
	p.ExecutionMS = result.Metrics.DurationMS
	p.CPUMS = result.Metrics.CPUMS
	p.MemoryPeak = result.Metrics.MemoryPeakBytes
	p.RunPhases = result.Metrics.Phases
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// PrintRun shows the result, and returns the exit code as an error unless it is 0.
func (s *Shower) PrintRun(result *yurt.Result, p *Profile, profiled bool) error {
	var err error
	if s.JSON {
		err = s.printResultJSON(result, p, profiled)
	} else {
		s.printResult(result)
		if profiled {
			s.printProfile(p)
		}
	}
	if err != nil {
		return err
	}
	if code := result.CLIExitCode(); code != yurt.ExitOK {
		return ExitError(code)
	}
	return nil
}

func (a *App) printResultJSON(result *yurt.Result, p *Profile, profiled bool) error {
	shown := struct {
		*yurt.Result
		Profile *Profile `json:"profile,omitempty"`
	}{Result: result}
	if profiled {
		shown.Profile = p
	}
	return a.PrintJSON(shown)
}

// printResult shows the parts of the outcome that the program did not print itself: the value that
// a handler returned, why it failed, and that output was cut.
func (s *Shower) printResult(result *yurt.Result) {
	if s.returns(result) && !s.streamed {
		if result.Stdout != "" && !strings.HasSuffix(result.Stdout, "\n") {
			s.Printf("\n")
		}
		if result.Error == nil {
			s.Printf("%s\n", indented(result.Result))
		}
	}
	s.printCuts(s.Limit, result)
	if result.Error != nil {
		s.printExecutionError(result)
	}
}

// returns reports whether the result holds a value that is to be printed: a handler's return value,
// or the value of the last expression where no display has shown it.
func (s *Shower) returns(result *yurt.Result) bool {
	if s.Kind == yurt.KindHandler || result.Handler != "" {
		return true
	}
	return s.Values && result.MainDisplay == nil && len(result.Result) > 0 && string(result.Result) != "null"
}

func indented(value json.RawMessage) []byte {
	var out bytes.Buffer
	if len(value) == 0 || json.Indent(&out, value, "", "  ") != nil {
		return []byte("null")
	}
	return out.Bytes()
}

func (a *App) printCuts(limit yurt.Size, result *yurt.Result) {
	cut := func(stream string, was bool, written int64) {
		if !was {
			return
		}
		at := ""
		if limit > 0 {
			at = " at " + screen.Size(int64(limit))
		}
		fmt.Fprintf(a.Stderr, "yurt: %s was cut%s; the program wrote %s\n", stream, at, screen.Size(written))
	}
	cut("standard output", result.Truncated.Stdout, result.Metrics.StdoutBytes)
	cut("standard error", result.Truncated.Stderr, result.Metrics.StderrBytes)
	if result.Truncated.Result {
		fmt.Fprintln(a.Stderr, "yurt: the value of the last expression is left out of the result; it is larger than the limit of output")
	}
}

// printExecutionError shows the error in Python's order, outermost line first and
// the error itself last, unless the program has printed it so.
func (s *Shower) printExecutionError(result *yurt.Result) {
	a, e := s.App, *result.Error
	if saysAll(result.Stderr, e) {
		return
	}
	if e.Type == yurt.ErrorTypeDependency && s.progress { // the lines below the first were shown already
		first, _, _ := strings.Cut(e.Message, "\n")
		e.Message = strings.TrimSuffix(first, ":")
	}
	if result.Stderr != "" && !strings.HasSuffix(result.Stderr, "\n") {
		fmt.Fprintln(a.Stderr)
	}
	for _, line := range e.Stacktrace {
		fmt.Fprintln(a.Stderr, strings.TrimRight(line, "\n"))
	}
	fmt.Fprintln(a.Stderr, a.Told().Paint(screen.Red, "yurt: "+e.Type+":")+" "+e.Message)
}

// withoutPlace returns the message without the place in the code that it may begin with.
func withoutPlace(e yurt.ExecutionError) string {
	if len(e.Stacktrace) == 0 {
		return e.Message
	}
	return strings.TrimPrefix(e.Message, e.Stacktrace[0]+": ")
}

// saysAll reports whether printed text names the error and each line of its stack, or is a
// compiler's message.
func saysAll(printed string, e yurt.ExecutionError) bool {
	switch {
	case e.Type == yurt.ErrorTypeCompile && strings.TrimSpace(printed) != "": // no other program has run
		return true
	case e.Type == yurt.ErrorTypeSyntax && e.Message != "" && strings.Contains(printed, withoutPlace(e)):
		return true
	}
	missing := func(frame string) bool { return !strings.Contains(printed, strings.TrimRight(frame, "\n")) }
	return !missing(e.Type+": ") && !slices.ContainsFunc(e.Stacktrace, missing)
}

// printProfile writes to standard error, so that it does not mix with the result.
func (a *App) printProfile(p *Profile) {
	line := func(name, value string) { fmt.Fprintf(a.Stderr, "  %-24s %s\n", name, value) }
	phases := func(of map[string]float64) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			line("  "+name, InMS(of[name]))
		}
	}
	fmt.Fprintln(a.Stderr, "profile")
	line("wall", InMS(p.WallMS))
	line("sandbox made after", InMS(p.SandboxMS))
	phases(p.SandboxPhases)
	line("execution", InMS(p.ExecutionMS))
	phases(p.RunPhases)
	line("CPU", InMS(p.CPUMS))
	line("peak memory", screen.Size(p.MemoryPeak))
}

// InMS prints milliseconds.
func InMS(ms float64) string { return strconv.FormatFloat(ms, 'f', 2, 64) + " ms" }

// Report shows the outcome of an execution whose events were passed on, and returns its exit code
// as an error unless it is 0.
func (s *Shower) Report(execution yurt.Execution) error {
	result := execution.Result
	if s.JSON {
		if err := s.PrintJSON(execution); err != nil {
			return err
		}
	} else {
		s.printResult(result)
	}
	if result.ExitCode != 0 {
		return ExitError(result.ExitCode)
	}
	if result.Error != nil {
		return ExitError(result.CLIExitCode())
	}
	return nil
}
