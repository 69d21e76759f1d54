package tracing

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func fields(of map[string]string) func(string) string {
	return func(name string) string { return of[name] }
}

// TestPassesThrough: without a tracer the context of the caller reaches the next process as it is.
func TestPassesThrough(t *testing.T) {
	ctx, request := Enter(t.Context(), nil, "request", fields(map[string]string{"traceparent": parent, "tracestate": "a=b"}))
	ctx, part := Start(ctx, "part")
	Part(ctx, "late", time.Unix(1, 0), time.Unix(2, 0))
	passed := map[string]string{}
	Inject(ctx, func(field, value string) { passed[field] = value })
	if Parent(ctx) != parent || passed["traceparent"] != parent || passed["tracestate"] != "a=b" {
		t.Errorf("the context is %q, and %v is passed on, want %s", Parent(ctx), passed, parent)
	}
	End(part, nil)
	Answer(request, "req_1", "GET", "/x", 200)
}

// TestUntraced: a request without a context and a tracer passes no context on, and its parts make no spans.
func TestUntraced(t *testing.T) {
	ctx, span := Enter(t.Context(), nil, "request", fields(nil))
	if ctx != t.Context() || span.SpanContext().IsValid() || Parent(ctx) != "" {
		t.Errorf("the request has the context %q", Parent(ctx))
	}
	below, part := Start(ctx, "part")
	if below != ctx || part.IsRecording() {
		t.Error("a part of it is traced")
	}
	Inject(ctx, func(field, value string) { t.Errorf("%s: %s is passed on", field, value) })
	if cost := testing.AllocsPerRun(100, func() {
		_, span := Start(ctx, "part")
		span.End()
		Part(ctx, "part", time.Time{}, time.Time{})
	}); cost > 0 {
		t.Errorf("a part that is not traced takes %v allocations, want none", cost)
	}
}

// TestTraced: parts are below the request, also those that are over or that outlast it, and errors show.
func TestTraced(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdk.NewTracerProvider(sdk.WithSyncer(exporter)).Tracer("test")
	ctx, request := Enter(t.Context(), tracer, "request", fields(map[string]string{"traceparent": parent}))
	within, part := Start(ctx, "part")
	End(part, errors.New("broken"))
	Answer(request, "req_1", "GET", "/x", 503)
	Part(within, "late", time.Unix(1, 0), time.Unix(2, 0))
	spans := exporter.GetSpans()
	if len(spans) != 3 || spans[0].Name != "part" || spans[1].Name != "GET /x" || spans[2].Name != "late" {
		t.Fatalf("the spans are %v, want part, GET /x and late", spans)
	}
	if spans[1].Parent.SpanID().String() != parent[36:52] || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() || spans[2].Parent.SpanID() != spans[0].SpanContext.SpanID() {
		t.Error("the spans are not one below the other")
	}
	if spans[0].Status.Code != codes.Error || spans[0].Status.Description != "broken" || spans[1].Status.Code != codes.Error {
		t.Errorf("the status of the part is %v", spans[0].Status)
	}
	if took := spans[2].EndTime.Sub(spans[2].StartTime); took != time.Second {
		t.Errorf("the part that is over took %s, want 1s", took)
	}
	if got := Parent(within); !strings.HasPrefix(got, parent[:36]) || got == parent {
		t.Errorf("the context is %q, want one of the part in the trace of %s", got, parent)
	}
}

// TestLines: each line of a request has its ids, once.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(Handler(slog.NewTextHandler(&out, nil))).With("node", "a")
	tracer := sdk.NewTracerProvider().Tracer("test")
	ctx, span := Enter(WithRequest(t.Context(), "req_1"), tracer, "request", fields(map[string]string{"traceparent": parent}))
	defer span.End()
	log.InfoContext(ctx, "one")
	log.InfoContext(ctx, "two", "request_id", "req_1")
	log.InfoContext(context.Background(), "three")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []int{1, 1, 0} {
		if strings.Count(lines[i], "request_id=req_1") != want || strings.Count(lines[i], "trace_id="+parent[3:35]) != want || !strings.Contains(lines[i], "node=a") {
			t.Errorf("the line is %q, want %d times the ids", lines[i], want)
		}
	}
}
