package pool

import (
	"github.com/prometheus/client_golang/prometheus"
)

func newRefill() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "yurt_pool_refill_seconds",
		Help:    "Time to open a slot of a warm pool, until its sandbox can be claimed.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 14),
	})
}

// Collector returns the metrics of the manager's pools, as of its last look.
func (m *Manager) Collector() prometheus.Collector {
	labels := []string{"template"}
	return &collector{
		manager: m,
		target:  prometheus.NewDesc("yurt_pool_target", "Ready sandboxes that a warm pool needs, by demand.", labels, nil),
		ready:   prometheus.NewDesc("yurt_pool_ready", "Sandboxes of a warm pool that can be claimed.", labels, nil),
		claimed: prometheus.NewDesc("yurt_pool_claimed", "Slots of a warm pool that are claimed.", labels, nil),
		pending: prometheus.NewDesc("yurt_pool_pending", "Slots of a warm pool that are being opened.", labels, nil),
		hits:    prometheus.NewDesc("yurt_pool_hits_total", "Claims that found a sandbox in the warm pool.", labels, nil),
		misses:  prometheus.NewDesc("yurt_pool_misses_total", "Claims that found no sandbox in the warm pool.", labels, nil),
	}
}

type collector struct {
	manager                                       *Manager
	target, ready, claimed, pending, hits, misses *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.target, c.ready, c.claimed, c.pending, c.hits, c.misses} {
		descs <- desc
	}
	c.manager.refill.Describe(descs)
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(samples chan<- prometheus.Metric) {
	c.manager.mu.Lock()
	defer c.manager.mu.Unlock()
	for _, template := range c.manager.listed {
		if template.WarmPool.Max == 0 {
			continue
		}
		pool := c.manager.planner.State(template)
		gauge := func(desc *prometheus.Desc, n int) {
			samples <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), template.Name)
		}
		gauge(c.target, pool.Target)
		gauge(c.ready, pool.Ready)
		gauge(c.claimed, pool.Claimed)
		gauge(c.pending, pool.Pending)
		samples <- prometheus.MustNewConstMetric(c.hits, prometheus.CounterValue, float64(pool.Hits), template.Name)
		samples <- prometheus.MustNewConstMetric(c.misses, prometheus.CounterValue, float64(pool.Misses), template.Name)
	}
	c.manager.refill.Collect(samples)
}
