// Package tracing tests the traces of a running server at the receiver of OpenTelemetry's own collector.
package tracing

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/trace"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/collector"
	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
)

// caller returns the context of a caller with a trace of its own.
func caller(t *testing.T, number byte) (context.Context, trace.SpanContext) {
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: number, 0: 7}, SpanID: trace.SpanID{7: number}, TraceFlags: trace.FlagsSampled,
	})
	return trace.ContextWithSpanContext(t.Context(), span), span
}

// TestTraces: the trace of a caller goes on through the SDK, the controller and the node into the program that it runs, and shows
// the steps of a create and of an execution.
func TestTraces(t *testing.T) {
	if testing.Short() {
		t.Skip("makes sandboxes")
	}
	received, endpoint := collector.Start(t)
	state := t.TempDir()
	server, err := devserver.Run(context.WithoutCancel(t.Context()), testutil.BuildYurt(t, "yurt", "test"), state,
		"dev", "--listen", "127.0.0.1:0", "--otlp-endpoint", endpoint, "--log-level", "debug")
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped {
			_ = server.Kill()
		}
	}()
	client, err := yurtclient.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	creating, create := caller(t, 1)
	session, err := client.CreateSession(creating, yurtclient.CreateSessionRequest{TemplateID: "shell-basic"})
	if err != nil {
		t.Fatal(err)
	}
	executing, execute := caller(t, 2)
	execution, err := client.Execute(executing, session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: `echo "$TRACEPARENT"; sleep 0.1`}})
	if err != nil {
		t.Fatal(err)
	}
	stopped = true
	if err := server.Stop(); err != nil { // sends the rest, and writes the rest of the log
		t.Fatal(err)
	}
	log := server.LogTail()
	if want := "00-" + execute.TraceID().String() + "-"; !strings.HasPrefix(execution.Result.Stdout, want) {
		t.Errorf("the program has TRACEPARENT %q, want one that begins with %s", execution.Result.Stdout, want)
	}
	if want := "trace_id=" + execute.TraceID().String(); !strings.Contains(log, want) || !strings.Contains(log, "trace_id="+create.TraceID().String()) {
		t.Errorf("no line of the log has the trace of a request:\n%s", log)
	}
	check(t, received.Of(create.TraceID()), create.SpanID().String(), "POST /api/v1/sessions", []string{"store", "place", "launch"})
	spans := received.Of(execute.TraceID())
	check(t, spans, execute.SpanID().String(), "POST /api/v1/sessions/{id}/execute", []string{"execute", "plan", "start", "first output", "run"})
	if first, run := spans["first output"], spans["run"]; first.EndTimestamp() >= run.EndTimestamp() {
		t.Errorf("the first output came at %s, and the run ended at %s", first.EndTimestamp(), run.EndTimestamp())
	}
	if received.About["service.name"] != "yurt" || received.About["service.version"] != "test" {
		t.Errorf("the service is %v, want yurt", received.About)
	}
}

// check wants a span of the request below the caller's, and spans of the parts below that.
func check(t *testing.T, spans map[string]ptrace.Span, parent, request string, parts []string) {
	t.Helper()
	byID, names := map[string]ptrace.Span{}, []string{}
	for name, span := range spans {
		byID[span.SpanID().String()] = span
		names = append(names, name)
	}
	root, ok := spans[request]
	if !ok || root.ParentSpanID().String() != parent || root.Kind() != ptrace.SpanKindServer {
		t.Fatalf("there is no span %q of a server below that of the caller; there are %q", request, names)
	}
	for _, part := range parts {
		span, ok := spans[part]
		if !ok {
			t.Errorf("%s has no span %q; there are %q", request, part, names)
			continue
		}
		above := span
		for range len(spans) {
			if next, ok := byID[above.ParentSpanID().String()]; ok {
				above = next
			}
		}
		if above.SpanID() != root.SpanID() {
			t.Errorf("the span %q is not below that of the request", part)
		}
		if span.StartTimestamp() < root.StartTimestamp() || span.EndTimestamp() < span.StartTimestamp() {
			t.Errorf("the span %q lasts from %s to %s, and the request begins at %s", part, span.StartTimestamp(), span.EndTimestamp(), root.StartTimestamp())
		}
	}
}

// TestCollectorAway: a collector that is not there costs no request.
func TestCollectorAway(t *testing.T) {
	if testing.Short() {
		t.Skip("makes sandboxes")
	}
	server, err := devserver.Run(context.WithoutCancel(t.Context()), testutil.BuildYurt(t, "yurt", "test"), filepath.Join(t.TempDir(), "state"),
		"dev", "--listen", "127.0.0.1:0", "--otlp-endpoint", "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	client, err := yurtclient.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "shell-basic"}); err != nil {
		t.Error(err)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}
