// Package collector receives traces for tests, by the receiver of OpenTelemetry's own collector.
package collector

import (
	"context"
	"net"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
)

// Collector has the spans that it received.
type Collector struct {
	ptraceotlp.UnimplementedGRPCServer

	About map[string]string // of the service; read it when the sender has ended

	mu    sync.Mutex
	spans []ptrace.Span
}

// Start starts a collector, which ends with the test, and returns its endpoint.
func Start(t *testing.T) (_ *Collector, endpoint string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, server := &Collector{About: map[string]string{}}, grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, c)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c, "http://" + listener.Addr().String()
}

// Export implements [ptraceotlp.GRPCServer].
func (c *Collector) Export(_ context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range req.Traces().ResourceSpans().All() {
		for name, value := range resource.Resource().Attributes().All() {
			c.About[name] = value.AsString()
		}
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				c.spans = append(c.spans, span)
			}
		}
	}
	return ptraceotlp.NewExportResponse(), nil
}

// Of returns the spans of a trace, by name.
func (c *Collector) Of(id trace.TraceID) map[string]ptrace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]ptrace.Span{}
	for _, span := range c.spans {
		if span.TraceID().String() == id.String() {
			found[span.Name()] = span
		}
	}
	return found
}
