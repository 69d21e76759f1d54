// Package tracing marks the parts of a request for OpenTelemetry, and carries the request's context from one process to the next
// as the W3C describes it.
//
// A request that is not traced costs a look into its context at each part. The exporter of spans is made by the command; the parts
// find it by the span in their context, so that no part is configured.
package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope names the instrumentation in each span.
const scope = "github.com/yurtrun/yurt"

// Fields of the W3C context in headers and in the metadata of calls, and the name of the request's id there.
const (
	fieldParent  = "traceparent"
	fieldState   = "tracestate"
	fieldRequest = "x-request-id"
)

// Variable is the variable of the environment by which a program in a sandbox continues the trace.
const Variable = "TRACEPARENT"

// Enter begins the span of a request that came from another process, with the context that its fields carry. Without a tracer it makes
// no span, and the context passes through, from the caller to programs in sandboxes.
func Enter(ctx context.Context, tracer trace.Tracer, name string, get func(field string) string) (context.Context, trace.Span) {
	ctx = propagation.TraceContext{}.Extract(ctx, carrier{get: get})
	if tracer == nil {
		return ctx, noop.Span{}
	}
	return tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
}

// Start begins the span of a part of a request.
func Start(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.SpanContext().IsSampled() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithAttributes(attributes...))
}

// Part adds the span of a part that is over.
func Part(ctx context.Context, name string, begin, end time.Time) {
	parent := trace.SpanFromContext(ctx)
	if !parent.SpanContext().IsSampled() {
		return
	}
	_, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithTimestamp(begin))
	span.End(trace.WithTimestamp(end))
}

// End ends a span, with the error that the part ended with.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, strings.ToValidUTF8(err.Error(), "?"))
	}
	span.End()
}

// Answer ends the span of a request by HTTP that was answered.
func Answer(span trace.Span, id, method, route string, status int) {
	if !span.IsRecording() {
		return
	}
	span.SetName(method + " " + route)
	span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
		attribute.Int("http.response.status_code", status), attribute.String("yurt.request_id", id))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.End()
}

// Inject calls set with the fields that carry the context of a request, and its id, to another process.
func Inject(ctx context.Context, set func(field, value string)) {
	if id := Request(ctx); id != "" {
		set(fieldRequest, id)
	}
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, carrier{set: set})
	}
}

// Parent returns the request's context for [Variable]; "" for a request without one.
func Parent(ctx context.Context) (parent string) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, carrier{set: func(field, value string) {
			if field == fieldParent {
				parent = value
			}
		}})
	}
	return parent
}

// carrier reads or writes the fields of the W3C context.
type carrier struct {
	get func(field string) string
	set func(field, value string)
}

func (c carrier) Get(field string) string { return c.get(field) }
func (c carrier) Set(field, value string) { c.set(field, value) }
func (c carrier) Keys() []string          { return []string{fieldParent, fieldState} }

type requestKey struct{}

// WithRequest notes the id of a request, for the log.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Request returns the id of the request that ctx belongs to, or "".
func Request(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// Handler returns a log handler that adds the ids of the request and of its trace to each line that is logged with their context.
func Handler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, line slog.Record) error {
	if id := Request(ctx); id != "" && !names(line, "request_id") {
		line.AddAttrs(slog.String("request_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		line.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, line) //nolint:wrapcheck // it is the handler itself
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

// names reports whether a line has an attribute.
func names(line slog.Record, key string) (found bool) {
	line.Attrs(func(a slog.Attr) bool {
		found = a.Key == key
		return !found
	})
	return found
}
