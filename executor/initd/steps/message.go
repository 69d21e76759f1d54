package steps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Command is the first argument that makes yurt-init's binary call [Run]; the second
// is the path of the plan.
const Command = "steps"

// Bounds of a [Report].
const (
	MaxOutput = 64 << 10 // of the output of a failed step
	// MaxReport is how long an encoded report can be: the output in base64, and room.
	MaxReport = MaxOutput*4/3 + 16<<10
)

// Plan lists the work of an execution: directories, compile steps and the program.
type Plan struct {
	Dirs    []string `json:"dirs"` // made first, with their parents
	Compile []Step   `json:"compile"`
	Argv    []string `json:"argv"`   // the program that replaces this process
	Control bool     `json:"result"` // whether that keeps descriptor 3
	// Settings of the [Rewriter] for the output of the steps.
	Hidden   []string   `json:"hidden,omitempty"`
	Inserted *Insertion `json:"inserted,omitempty"`
}

// Step is a command that has to succeed.
type Step struct {
	Argv    []string      `json:"argv"`
	Env     []string      `json:"env"`     // all of it
	Timeout time.Duration `json:"timeout"` // 0: no timeout of its own
}

// Report tells of a step that failed, or of a program that could not be started.
type Report struct {
	Step     int    `json:"step"`                // of Plan.Compile; its length stands for Plan.Argv
	ExitCode int    `json:"exit_code"`           // -1 when a signal ended it
	Signal   int    `json:"signal,omitempty"`    // which
	TimedOut bool   `json:"timed_out,omitempty"` // by the step's own timeout
	Missing  string `json:"missing,omitempty"`   // why it could not be started, if it could not
	Output   []byte `json:"output,omitempty"`    // the beginning of its output
}

// envelope distinguishes a report from a program's own data on descriptor 3.
type envelope struct {
	Step *Report `json:"failed_step"`
}

// Encode returns the report as it is sent.
func (r Report) Encode() ([]byte, error) { return json.Marshal(envelope{&r}) }

// DecodeReport decodes the data from descriptor 3 of an execution with the given number of steps. It returns nil if
// the data is not a report, and an error if it is a report of an impossible step.
func DecodeReport(data []byte, steps int) (*Report, error) {
	if !bytes.HasPrefix(data, []byte(`{"failed_step":`)) {
		return nil, nil
	}
	if len(data) > MaxReport {
		return nil, fmt.Errorf("the report of a failed step has %d bytes; at most %d are allowed", len(data), MaxReport)
	}
	var e envelope
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return nil, fmt.Errorf("reading the report of a failed step: %w", err)
	}
	switch {
	case e.Step == nil:
		return nil, errors.New("the report of a failed step is empty")
	case e.Step.Step < 0 || e.Step.Step > steps:
		return nil, fmt.Errorf("the report is about step %d of %d", e.Step.Step, steps)
	case len(e.Step.Output) > MaxOutput || len(e.Step.Missing) > MaxOutput:
		return nil, errors.New("the report of a failed step holds too much output")
	case e.Step.ExitCode < -1 || e.Step.ExitCode > 255 || e.Step.Signal < 0 || e.Step.Signal > 64:
		return nil, errors.New("the report of a failed step holds an impossible exit status")
	}
	return e.Step, nil
}
