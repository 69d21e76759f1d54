// Package figures shows a node to Prometheus: its sandboxes, queues, memory, processors, disk and caches, and how long installations
// of packages take. The labels are those of the node itself: no sandbox, session, template or tenant is named.
package figures

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
)

// readLimit bounds how long a scrape may take to read the node.
const readLimit = 5 * time.Second

// Reading is the state of a node at one time.
type Reading struct {
	Capacity   yurt.Capacity
	Load       Load
	CPU        time.Duration // of all sandboxes that there were
	Memory     int64         // bytes that all sandboxes take together
	PIDs       int
	Free, Disk yurt.Size // of the file system of the state directory: for sandboxes, and in all
	Caches     map[string]Cache
}

// Load is the work of a node and its bounds.
type Load struct {
	Waiting, MaxWaiting       int // sandboxes that wait to be made
	Making                    int // sandboxes that are made or wait for that
	Executions, MaxExecutions int
}

// Cache is the content that a node keeps on disk to have it at hand.
type Cache struct{ Bytes, Limit int64 }

// Figures counts the events on a node.
type Figures struct{ installs *prometheus.HistogramVec }

// New returns figures of a node without events.
func New() *Figures {
	return &Figures{installs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "yurt_node_install_duration_seconds",
		Help:    "Time to install the packages of a template or an execution, including the wait for other installations.",
		Buckets: prometheus.ExponentialBuckets(0.25, 2, 12),
	}, []string{"outcome"})}
}

// Installed notes an installation that has ended.
func (f *Figures) Installed(took time.Duration, err error) {
	outcome := "installed"
	if err != nil {
		outcome = "failed"
	}
	f.installs.WithLabelValues(outcome).Observe(took.Seconds())
}

// Collector shows the node that read reads.
func (f *Figures) Collector(read func(ctx context.Context) (Reading, error)) prometheus.Collector {
	return &collector{figures: f, read: read, gauges: gauges(), cache: prometheus.NewDesc(
		"yurt_node_cache_bytes", "Disk space of a cache of the node.", []string{"cache"}, nil,
	), cacheLimit: prometheus.NewDesc(
		"yurt_node_cache_limit_bytes", "Largest disk space of a cache; the least recently used content is removed first.", []string{"cache"}, nil,
	)}
}

// gauge is a figure of the node without labels.
type gauge struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(Reading) float64
}

func gauges() []gauge {
	number := func(name, help string, value func(Reading) float64) gauge {
		return gauge{prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value}
	}
	yes := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	return []gauge{
		{
			prometheus.NewDesc("yurt_node_sandbox_cpu_seconds_total", "Processor time that all sandboxes of the node took.", nil, nil),
			prometheus.CounterValue, func(r Reading) float64 { return r.CPU.Seconds() },
		},
		number("yurt_node_sandboxes", "Sandboxes on the node, including warm ones.", func(r Reading) float64 { return float64(r.Capacity.Sandboxes) }),
		number("yurt_node_sandboxes_limit", "Sandboxes that may be on the node.", func(r Reading) float64 { return float64(r.Capacity.MaxSandboxes) }),
		number("yurt_node_creates", "Sandboxes that are being made or wait to be made.", func(r Reading) float64 { return float64(r.Load.Making) }),
		number("yurt_node_creates_waiting", "Sandboxes that wait to be made.", func(r Reading) float64 { return float64(r.Load.Waiting) }),
		number("yurt_node_creates_waiting_limit", "Sandboxes that may wait to be made.", func(r Reading) float64 { return float64(r.Load.MaxWaiting) }),
		number("yurt_node_executions", "Executions that run on the node.", func(r Reading) float64 { return float64(r.Load.Executions) }),
		number("yurt_node_executions_limit", "Executions that may run on the node.", func(r Reading) float64 { return float64(r.Load.MaxExecutions) }),
		number("yurt_node_sandbox_memory_bytes", "Memory that all sandboxes take together.", func(r Reading) float64 { return float64(r.Memory) }),
		number("yurt_node_sandbox_memory_limit_bytes", "Memory that all sandboxes may take together.", func(r Reading) float64 { return float64(r.Capacity.Memory.Limit) }),
		number("yurt_node_promised_memory_bytes", "The sum of the memory limits of all sandboxes and slots.", func(r Reading) float64 { return float64(r.Capacity.Memory.Promised) }),
		number("yurt_node_promised_memory_limit_bytes", "The sum beyond which sandboxes are refused.", func(r Reading) float64 { return float64(r.Capacity.Memory.Promisable) }),
		number("yurt_node_sandbox_processes", "Processes and threads of all sandboxes.", func(r Reading) float64 { return float64(r.PIDs) }),
		number("yurt_node_disk_free_bytes", "Free space of the disk with the node's state directory.", func(r Reading) float64 { return float64(r.Free) }),
		number("yurt_node_disk_size_bytes", "Size of the disk with the node's state directory.", func(r Reading) float64 { return float64(r.Disk) }),
		number("yurt_node_disk_full", "1 while the node takes no new sandboxes because its disk is full.", func(r Reading) float64 { return yes(r.Capacity.DiskFull) }),
		number("yurt_node_draining", "1 while the node takes no new sandboxes because it is drained.", func(r Reading) float64 { return yes(r.Capacity.Draining) }),
	}
}

type collector struct {
	figures           *Figures
	read              func(ctx context.Context) (Reading, error)
	gauges            []gauge
	cache, cacheLimit *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, g := range c.gauges {
		descs <- g.desc
	}
	descs <- c.cache
	descs <- c.cacheLimit
	c.figures.installs.Describe(descs)
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(samples chan<- prometheus.Metric) {
	c.figures.installs.Collect(samples)
	ctx, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	reading, err := c.read(ctx)
	if err != nil {
		samples <- prometheus.NewInvalidMetric(c.gauges[0].desc, err)
		return
	}
	for _, g := range c.gauges {
		samples <- prometheus.MustNewConstMetric(g.desc, g.kind, g.value(reading))
	}
	for name, cache := range reading.Caches {
		samples <- prometheus.MustNewConstMetric(c.cache, prometheus.GaugeValue, float64(cache.Bytes), name)
		samples <- prometheus.MustNewConstMetric(c.cacheLimit, prometheus.GaugeValue, float64(cache.Limit), name)
	}
}
