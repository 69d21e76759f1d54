// Package scrape serves metrics to Prometheus from a server without a REST API. It asks for no key, so metrics that are served by
// it name no tenant.
package scrape

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
)

// Bounds of a scrape.
const (
	readLimit  = 5 * time.Second  // to send its headers
	writeLimit = 30 * time.Second // to be answered
	inFlight   = 4
)

// Flags say where metrics are served.
type Flags struct{ Address string }

// Add adds the flag.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Address, "metrics-listen", "", "the address, host:port, at which Prometheus finds /metrics; requests there need no key, so give one that others do not reach (default: none)")
}

// Check refuses an address that cannot be.
func (f *Flags) Check() error {
	if f.Address == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.Address); err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--metrics-listen", "%q is not an address; give host:port such as 127.0.0.1:8702", f.Address)
	}
	return nil
}

// Bind listens at the address. The caller closes the listener.
func (f *Flags) Bind(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.Address)
	if err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeUnavailable, "--metrics-listen", "listening on %s: %w; give a free address of this machine", f.Address, err)
	}
	return listener, nil
}

// Start serves metrics at the listener that bind returns until stop is called, which waits for the end. Without an address it serves
// no metrics.
func (f *Flags) Start(ctx context.Context, bind func(context.Context) (net.Listener, error), logger *slog.Logger, metrics ...prometheus.Collector) (stop func(), err error) {
	if f.Address == "" {
		return func() {}, nil
	}
	registry := prometheus.NewRegistry()
	for _, c := range append(metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})) {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	listener, err := bind(ctx)
	if err != nil {
		return nil, err
	}
	logger.Info("metrics are served", "address", listener.Addr().String())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: inFlight, Timeout: writeLimit}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: readLimit, WriteTimeout: writeLimit + readLimit, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("metrics are served no longer", "error", err)
		}
	}()
	return func() {
		_ = server.Close() // its listener is closed either way
		<-done
	}, nil
}
