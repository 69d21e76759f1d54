package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const eventStream = "text/event-stream"

// Transport sends requests by base, and reports each answer that the document does not allow.
// The answers reach their reader unchanged. report may be called by several goroutines.
func (d *Document) Transport(base http.RoundTripper, report func(error)) http.RoundTripper {
	return &transport{document: d, base: base, report: report}
}

type transport struct {
	document *Document
	base     http.RoundTripper
	report   func(error)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil || req.Method == http.MethodHead || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	report := func(err error) {
		t.report(fmt.Errorf("%s %s: answer %d: %w", req.Method, req.URL.RequestURI(), resp.StatusCode, err))
	}
	target := *req.URL
	if target.Opaque != "" { // a test that sends a path as it is
		target.RawPath, target.Path = target.Opaque, target.Opaque
	}
	want, err := t.document.expect(req.Method, &target, resp.StatusCode, resp.Header)
	if err != nil {
		report(err)
		return resp, nil
	}
	resp.Body = &body{ReadCloser: resp.Body, answer: want, report: report}
	return resp, nil
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach the base.
func (t *transport) CloseIdleConnections() {
	(&http.Client{Transport: t.base}).CloseIdleConnections()
}

// body is that of an answer, checked as it is read: an event when it is whole, anything else at
// its end. A body that its reader leaves early is checked as far as it can be.
type body struct {
	io.ReadCloser
	answer answer
	report func(error)

	mu   sync.Mutex // a body may be closed while it is read
	seen bytes.Buffer
	done bool
}

func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answer.schema != nil || b.answer.empty {
		b.seen.Write(into[:n])
	}
	if b.answer.kind == eventStream {
		b.checkEvents()
	}
	if errors.Is(err, io.EOF) {
		b.check()
	}
	return n, err
}

func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if json.Valid(b.seen.Bytes()) { // a decoder may stop before it sees the end
		b.check()
	}
	return b.ReadCloser.Close()
}

// check checks a body that is whole.
func (b *body) check() {
	if b.done || b.answer.kind == eventStream {
		return
	}
	b.done = true
	switch {
	case b.answer.empty && b.seen.Len() > 0:
		b.report(fmt.Errorf("the document has no body, and there is %.200q", b.seen.String()))
	case b.answer.schema != nil:
		b.validate(b.seen.Bytes())
	}
}

// checkEvents checks the events that are whole, and forgets them.
func (b *body) checkEvents() {
	for {
		event, _, whole := bytes.Cut(b.seen.Bytes(), []byte("\n\n"))
		if !whole {
			return
		}
		b.validateEvent(string(event))
		b.seen.Next(len(event) + 2)
	}
}

// validateEvent checks an event as an object of its fields. A comment, or a field without data, is
// no event to readers of the stream.
func (b *body) validateEvent(text string) {
	fields := map[string]any{}
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); is && name != "" {
			fields[name] = value
		}
	}
	if fields["data"] != nil {
		b.complain(b.answer.schema.Validate(fields), text)
	}
}

func (b *body) validate(text []byte) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = b.answer.schema.Validate(value)
	}
	b.complain(err, string(text))
}

// complain reports a fault, if there is one.
func (b *body) complain(err error, text string) {
	if err != nil {
		b.report(fmt.Errorf("%w\nin %.600s", err, text))
	}
}
