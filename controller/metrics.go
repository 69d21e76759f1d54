package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/lease"
)

const scrapeLimit = 5 * time.Second // for the store to count

// metrics are the figures of a controller. Without a registerer they are not shown.
type metrics struct {
	created    *prometheus.HistogramVec // by placement
	executions *prometheus.CounterVec   // by kind and outcome
	duration   *prometheus.HistogramVec // by kind
	expired    prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, store contract.Store, members *lease.Members) (*metrics, error) {
	m := &metrics{
		created: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "yurt_session_create_duration_seconds",
			Help:    "Time from the request to a ready sandbox.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"placement"}),
		executions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "yurt_executions_total",
			Help: "Executions that ended.",
		}, []string{"kind", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "yurt_execution_duration_seconds",
			Help:    "Time that executions ran.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 16),
		}, []string{"kind"}),
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "yurt_sessions_expired_total",
			Help: "Sessions that ended by their idle timeout or lifetime.",
		}),
	}
	if registerer == nil {
		return m, nil
	}
	sessions := &sessionCollector{store: store, desc: prometheus.NewDesc("yurt_sessions", "Sessions in the store.", []string{"state"}, nil)}
	leads := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "yurt_controller_leads",
		Help: "1 while this controller is the leader, which ends expired sessions and sizes warm pools.",
	}, func() float64 {
		if members.Leads() {
			return 1
		}
		return 0
	})
	count := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "yurt_controllers",
		Help: "Controllers that use the same store, including this one.",
	}, func() float64 { return float64(members.Count()) })
	collectors := []prometheus.Collector{m.created, m.executions, m.duration, m.expired, sessions, leads, count}
	if measured, ok := store.(prometheus.Collector); ok {
		collectors = append(collectors, measured)
	}
	for _, collector := range collectors {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the controller's metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) sessionCreated(placement yurt.PlacementKind, took time.Duration) {
	m.created.WithLabelValues(string(placement)).Observe(took.Seconds())
}

func (m *metrics) executionEnded(e yurt.Execution) {
	m.executions.WithLabelValues(string(e.Kind), outcome(e.Result)).Inc()
	m.duration.WithLabelValues(string(e.Kind)).Observe(e.Result.Metrics.DurationMS / 1000)
}

// outcome puts a result into one of few classes, so that the user's own error types
// do not become labels.
func outcome(r *yurt.Result) string {
	if r.Error == nil {
		if r.ExitCode == 0 {
			return "succeeded"
		}
		return "failed"
	}
	switch r.Error.Type {
	case yurt.ErrorTypeTimeout:
		return "timeout"
	case yurt.ErrorTypeOutOfMemory:
		return "out_of_memory"
	case yurt.ErrorTypeSandboxLost, yurt.ErrorTypeSandboxFailed, yurt.ErrorTypeRuntimeUnavailable:
		return "lost"
	case yurt.ErrorTypeSessionEnded:
		return "session_ended"
	default:
		return "failed"
	}
}

// sessionCollector counts sessions when it is asked, so that the figure is that of
// the store also after a restart.
type sessionCollector struct {
	store contract.SessionStore
	desc  *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (s *sessionCollector) Describe(descs chan<- *prometheus.Desc) { descs <- s.desc }

// Collect implements [prometheus.Collector].
func (s *sessionCollector) Collect(samples chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(access.Systemwide(context.Background()), scrapeLimit)
	defer cancel()
	counts, err := s.store.CountSessions(ctx)
	if err != nil {
		samples <- prometheus.NewInvalidMetric(s.desc, errors.Join(errors.New("counting sessions"), err))
		return
	}
	for _, state := range yurt.SessionStates() {
		samples <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, float64(counts[state]), string(state))
	}
}
