// Package otlp sends the traces of a server to an OpenTelemetry collector. A server that is told of no collector makes no spans.
// A collector that is away costs spans, and delays no request.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/yurtrun/yurt"
)

// stopLimit is how long the end of a server waits for the last spans to be sent.
const stopLimit = 3 * time.Second

// Flags say where traces go.
type Flags struct{ endpoint string }

// Add adds the flag.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.endpoint, "otlp-endpoint", "", "the URL of an OpenTelemetry collector that takes OTLP by gRPC, such as http://127.0.0.1:4317, which gets a trace of each request; OTEL_EXPORTER_OTLP_ENDPOINT and the other variables of OpenTelemetry count too (default: no traces)")
}

// Check refuses a URL that cannot be.
func (f *Flags) Check() error {
	if f.endpoint == "" {
		return nil
	}
	at, err := url.Parse(f.endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--otlp-endpoint", "%q is no URL of a collector; give one such as http://127.0.0.1:4317", f.endpoint)
	}
	return nil
}

// Start returns the tracer of a server, which is nil where there is no collector. stop sends the spans that are left.
func (f *Flags) Start(ctx context.Context, getenv func(string) (string, bool), service, version, node string, logger *slog.Logger) (_ trace.Tracer, stop func() error, err error) {
	env := func(name string) string { value, _ := getenv(name); return value }
	told := f.endpoint != "" || env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	if !told || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_TRACES_EXPORTER") == "none" {
		return nil, func() error { return nil }, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if protocol := env(name); protocol != "" && protocol != "grpc" {
			return nil, nil, yurt.FieldErrorf(yurt.CodeNotSupported, name, "%q is not spoken; give grpc and the port of the collector for it, which is 4317 by default", protocol)
		}
	}
	var options []otlptracegrpc.Option
	if f.endpoint != "" {
		options = append(options, otlptracegrpc.WithEndpointURL(f.endpoint))
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("making the exporter of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", service), attribute.String("service.version", version), attribute.String("service.instance.id", node),
	), resource.WithFromEnv()) // whose names win
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("describing this server to the collector: %w", err), exporter.Shutdown(ctx))
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(&noted{SpanExporter: exporter, logger: logger}), sdk.WithResource(about))
	stop = func() error {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		if err := provider.Shutdown(limited); err != nil {
			logger.Warn("the last spans were not sent", "error", err)
		}
		return nil
	}
	return provider.Tracer("github.com/yurtrun/yurt"), stop, nil
}

// noted logs when spans begin to be lost, and when they come through again: a line an outage.
type noted struct {
	sdk.SpanExporter
	logger *slog.Logger
	away   bool // of the one goroutine that exports
}

// ExportSpans implements [sdk.SpanExporter].
func (n *noted) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := n.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !n.away:
		n.logger.Warn("the collector of traces does not take spans; they are dropped until it does", "error", err)
	case err == nil && n.away:
		n.logger.Info("the collector of traces takes spans again")
	}
	n.away = err != nil
	return nil //nolint:nilerr // it is logged; the library would print it a second time
}
