// Command gorunner runs the scenarios that every SDK is held to with the Go SDK. README.md above it describes the steps.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// step is one step of a scenario.
type step struct {
	Do     string          `json:"do"`
	With   json.RawMessage `json:"with"`
	In     string          `json:"in"`
	As     string          `json:"as"`
	Expect map[string]any  `json:"expect"`
	Error  map[string]any  `json:"error"`
	Steps  []step          `json:"steps"`

	Key     string         `json:"key"`
	Seconds map[string]any `json:"seconds"`
}

type scenario struct {
	Name  string `json:"name"`
	Long  bool   `json:"long"`
	Keys  bool   `json:"keys"`
	Steps []step `json:"steps"`
}

// told is the line about a scenario.
type told struct {
	Scenario string `json:"scenario"`
	OK       bool   `json:"ok"`
	Problem  string `json:"problem,omitempty"`
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "gorunner:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	data, err := os.ReadFile(os.Getenv("YURT_SCENARIOS"))
	if err != nil {
		return err
	}
	var file struct {
		Scenarios []scenario `json:"scenarios"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	client, err := clientOf(os.Getenv("YURT_API_KEY"))
	if err != nil {
		return err
	}
	for _, wanted := range file.Scenarios {
		if only := os.Getenv("YURT_ONLY"); wanted.Long != (only == "long") || wanted.Keys != (only == "keys") {
			continue
		}
		p := newPlay(client)
		err := errors.Join(p.run(ctx, wanted.Steps), p.end(ctx))
		line := told{Scenario: wanted.Name, OK: err == nil}
		if err != nil {
			line.Problem = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func clientOf(key string) (*yurtclient.Client, error) {
	return yurtclient.New(os.Getenv("YURT_SERVER"), yurtclient.WithAPIKey(key))
}

// play is one run of a scenario's steps, with the sandboxes and keys that it makes.
type play struct {
	client *yurtclient.Client
	made   []*yurtclient.Sandbox
	named  map[string]*yurtclient.Sandbox
	keys   map[string]madeKey
}

func newPlay(client *yurtclient.Client) *play {
	return &play{client: client, named: make(map[string]*yurtclient.Sandbox), keys: make(map[string]madeKey)}
}

// clientOf returns the client of a step, which may be one with a key that the scenario made.
func (p *play) clientOf(s *step) (*yurtclient.Client, error) {
	if s.Key == "" {
		return p.client, nil
	}
	return clientOf(p.keys[s.Key].secret.Reveal())
}

func (p *play) run(ctx context.Context, steps []step) error {
	for i := range steps {
		s := &steps[i]
		place, began := fmt.Sprintf("step %d (%s)", i+1, s.Do), time.Now()
		got, err := p.perform(ctx, s)
		took := time.Since(began).Seconds()
		switch {
		case err != nil && s.Error == nil:
			return fmt.Errorf("%s failed: %w", place, err)
		case err != nil:
			err = compare(s.Error, describe(err), place+" error")
		case s.Error != nil:
			return fmt.Errorf("%s returned %v; expected the error %v", place, got, s.Error)
		default:
			err = compare(s.Expect, plain(got), place)
		}
		if err == nil && s.Seconds != nil {
			err = compare(s.Seconds, took, place+" seconds")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// describe returns the members of an error that scenarios compare. A value that does not fit the type of an argument, which
// the compiler refuses in a program, counts as an argument that is not allowed.
func describe(err error) map[string]any {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return map[string]any{"code": string(yurt.CodeInvalidArgument), "field": mismatch.Field}
	}
	described := map[string]any{"code": string(yurt.CodeOf(err)), "request_id": yurtclient.RequestID(err)}
	var coded *yurt.Error
	if errors.As(err, &coded) {
		described["field"] = coded.Field
	}
	if wait := yurtclient.RetryAfter(err); wait > 0 {
		described["retry_after"] = wait.Seconds()
	}
	return described
}

func (p *play) end(ctx context.Context) error {
	var problems []error
	for _, box := range p.made {
		_, err := box.Kill(ctx)
		if code := yurt.CodeOf(err); err != nil && code != yurt.CodeSessionEnded && code != yurt.CodeSessionNotFound {
			problems = append(problems, fmt.Errorf("ending its sandboxes: %w", err))
		}
	}
	return errors.Join(problems...)
}

// perform performs a step and returns its result.
func (p *play) perform(ctx context.Context, s *step) (any, error) {
	switch s.Do {
	case "create":
		return create(ctx, p, s)
	case "connect":
		return connect(ctx, p, s)
	case "list":
		return list(ctx, p, s)
	case "control":
		return control(ctx, s)
	case "conditions":
		return conditions(ctx, p, s)
	case "container":
		return container(ctx, p, s)
	case "narrow":
		return narrow(ctx, p, s)
	case "at_once":
		return nil, atOnce(ctx, p, s)
	}
	if operation, ok := accountOperations()[s.Do]; ok {
		return operation(ctx, p, s)
	}
	if operation, ok := serverOperations()[s.Do]; ok {
		return operation(ctx, p.client, s)
	}
	operation, ok := operations()[s.Do]
	box := p.named[s.In]
	if !ok || box == nil {
		return nil, fmt.Errorf("there is no operation %q, or no sandbox %q", s.Do, s.In)
	}
	return operation(ctx, box, s)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
