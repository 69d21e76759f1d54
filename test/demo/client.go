package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// client speaks plain HTTP, as a reader with curl would: the demo shows the API
// itself, so it goes through no SDK.
type client struct {
	base string
	http *http.Client
}

// session is the part of a session that the demo looks at.
type session struct {
	ID         string `json:"id"`
	TemplateID string `json:"template_id"`
	State      string `json:"state"`
	Reason     string `json:"reason"`
	Placement  struct {
		Kind   string             `json:"kind"`
		Phases map[string]float64 `json:"phases_ms"`
	} `json:"placement"`
}

// result is the part of an execution's result that the demo looks at.
type result struct {
	ExitCode int             `json:"exit_code"`
	Stdout   string          `json:"stdout"`
	Stderr   string          `json:"stderr"`
	Result   json.RawMessage `json:"result"`
	Error    *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Metrics struct {
		DurationMS      float64 `json:"duration_ms"`
		CPUMS           float64 `json:"cpu_ms"`
		MemoryPeakBytes int64   `json:"memory_peak_bytes"`
	} `json:"metrics"`
}

// event is one step of a streamed execution.
type event struct {
	Seq    uint64  `json:"seq"`
	Type   string  `json:"type"`
	Data   string  `json:"data"`
	Result *result `json:"result"`
}

// do sends body as JSON and reads the answer into out, which may be nil.
func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(out)
	}
	if err != nil {
		return fmt.Errorf("reading the answer to %s %s: %w", method, path, err)
	}
	return nil
}

func (c *client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encoding the request: %w", err)
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		return nil, fmt.Errorf("%s %s was answered %s: %s", method, path, resp.Status, text)
	}
	return resp, nil
}

func (c *client) create(ctx context.Context, template string) (session, error) {
	var s session
	err := c.do(ctx, http.MethodPost, "/api/v1/sessions", object{"template_id": template, "mode": "persistent"}, &s)
	return s, err
}

func (c *client) execute(ctx context.Context, id string, what object) (result, error) {
	var r result
	err := c.do(ctx, http.MethodPost, "/api/v1/sessions/"+id+"/execute", what, &r)
	return r, err
}

func (c *client) end(ctx context.Context, id string) (session, error) {
	var s session
	err := c.do(ctx, http.MethodDelete, "/api/v1/sessions/"+id, nil, &s)
	return s, err
}

// stream runs the request and calls each with every event and the time since the request.
func (c *client) stream(ctx context.Context, id string, what object, each func(event, time.Duration)) (result, error) {
	begun := time.Now()
	resp, err := c.send(ctx, http.MethodPost, "/api/v1/sessions/"+id+"/execute", what)
	if err != nil {
		return result{}, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return result{}, fmt.Errorf("reading an event: %w", err)
		}
		each(e, time.Since(begun))
		if e.Result != nil {
			return *e.Result, nil
		}
	}
	return result{}, fmt.Errorf("the stream ended without a result: %w", lines.Err())
}

// object is a JSON object of a request.
type object map[string]any

// compact writes v on one line, as a person would for curl.
func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
