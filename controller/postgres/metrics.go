package postgres

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt/controller/internal/record"
)

// metrics are the metrics of a store.
type metrics struct {
	retries  *prometheus.CounterVec // by reason
	outages  prometheus.Counter
	outcomes *prometheus.CounterVec // of commits whose answer was lost
	away     *prometheus.Desc
	conns    *prometheus.Desc
	bytes    *prometheus.Desc
	took     prometheus.Histogram // of transactions
}

func newMetrics() metrics {
	return metrics{
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "yurt_store_retries_total", Help: "Requests to the store that were repeated.",
		}, []string{"reason"}),
		outages: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "yurt_store_unavailable_total", Help: "Requests to the store that were given up because it was unavailable.",
		}),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "yurt_store_lost_answers_total", Help: "Commits whose response was lost, by their outcome.",
		}, []string{"outcome"}),
		took:  record.NewWriteDuration(),
		away:  prometheus.NewDesc("yurt_store_away", "1 while the last request could not reach the store.", nil, nil),
		bytes: prometheus.NewDesc("yurt_store_bytes", "Disk space of the store.", []string{"part"}, nil),
		conns: prometheus.NewDesc("yurt_store_connections", "Connections to the store.", []string{"state"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (s *Store) Describe(descs chan<- *prometheus.Desc) {
	s.metrics.retries.Describe(descs)
	s.metrics.outages.Describe(descs)
	s.metrics.outcomes.Describe(descs)
	descs <- s.metrics.away
	descs <- s.metrics.conns
	descs <- s.metrics.bytes
	s.metrics.took.Describe(descs)
	descs <- record.TenantSessions()
}

// Collect implements [prometheus.Collector].
func (s *Store) Collect(samples chan<- prometheus.Metric) {
	s.metrics.retries.Collect(samples)
	s.metrics.outages.Collect(samples)
	s.metrics.outcomes.Collect(samples)
	s.metrics.took.Collect(samples)
	away := 0.0
	if s.away.Load() {
		away = 1
	}
	samples <- prometheus.MustNewConstMetric(s.metrics.away, prometheus.GaugeValue, away)
	stat := s.pool.Stat()
	samples <- prometheus.MustNewConstMetric(s.metrics.conns, prometheus.GaugeValue, float64(stat.AcquiredConns()), "busy")
	samples <- prometheus.MustNewConstMetric(s.metrics.conns, prometheus.GaugeValue, float64(stat.IdleConns()), "idle")
	s.collectSize(samples)
}

// sizeLimit bounds how long the database may take to say how large it is.
const sizeLimit = 5 * time.Second

// collectSize measures the database, unless it is away.
func (s *Store) collectSize(samples chan<- prometheus.Metric) {
	if s.away.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sizeLimit)
	defer cancel()
	var size int64
	if err := s.pool.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		return // requests report errors of the database
	}
	samples <- prometheus.MustNewConstMetric(s.metrics.bytes, prometheus.GaugeValue, float64(size), "database")
	record.CollectTenants(samples, func(ctx context.Context) ([]record.TenantCount, error) { return countTenants(ctx, s) })
}
