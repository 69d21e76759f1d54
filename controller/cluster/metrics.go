package cluster

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the figures of a placer. Without a registerer they are not shown.
type metrics struct {
	claims *prometheus.CounterVec // by outcome
	starts *prometheus.CounterVec // by outcome
}

func newMetrics(registerer prometheus.Registerer, p *Placer) (*metrics, error) {
	m := &metrics{
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "yurt_claims_total", Help: "Claims of warm sandboxes at nodes.",
		}, []string{"outcome"}),
		starts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "yurt_cold_starts_total", Help: "Slots that the orchestrator was asked to start for a session.",
		}, []string{"outcome"}),
	}
	if registerer == nil {
		return m, nil
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	for _, collector := range []prometheus.Collector{
		m.claims, m.starts, p.PoolMetrics(),
		gauge("yurt_view_live", "1 while the controller's view of the nodes is current, 0 while it is stale.", func() float64 {
			if live, _, _ := p.view.Status(); live {
				return 1
			}
			return 0
		}),
		gauge("yurt_view_stale_seconds", "Largest possible age of the controller's view of the nodes.", func() float64 {
			if live, since, _ := p.view.Status(); !live {
				return time.Since(since).Seconds()
			}
			return 0
		}),
		gauge("yurt_nodes_out_of_rotation", "Nodes that get no new sessions because their calls failed.", func() float64 {
			p.mu.Lock()
			defer p.mu.Unlock()
			return float64(p.chooser.breaker.open(time.Now()))
		}),
	} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the placer's metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) claimed(how outcome) {
	m.claims.WithLabelValues(map[outcome]string{claimGot: "got", claimRefused: "refused", claimFailed: "failed", claimLeft: "canceled"}[how]).Inc()
}

func (m *metrics) started(err error) {
	if err != nil {
		m.starts.WithLabelValues("failed").Inc()
		return
	}
	m.starts.WithLabelValues("placed").Inc()
}
