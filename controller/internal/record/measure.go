package record

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
)

const (
	measureLimit = 5 * time.Second // for the store to count
	// maxTenants bounds the tenants that metrics name. The others are one, by the name of [otherTenants].
	maxTenants = 200
	// otherTenants is no name that a tenant can have.
	otherTenants = "(other)"
)

// TenantCount is how many sessions of a tenant are in a state.
type TenantCount struct {
	Tenant string
	State  yurt.SessionState
	N      int
}

// NewWriteDuration returns the metric of how long a store takes to write.
func NewWriteDuration() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "yurt_store_write_duration_seconds",
		Help:    "Time of a transaction of the store, including the wait for its turn.",
		Buckets: prometheus.ExponentialBuckets(0.00005, 3, 12),
	})
}

// TenantSessions describes the metric that [CollectTenants] makes.
func TenantSessions() *prometheus.Desc {
	return prometheus.NewDesc("yurt_tenant_sessions", "Sessions that have not ended. If there are many tenants, those with the fewest sessions share a label.", []string{"tenant", "state"}, nil)
}

// CollectTenants makes the metric of the sessions of each tenant.
func CollectTenants(samples chan<- prometheus.Metric, count func(context.Context) ([]TenantCount, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), measureLimit)
	defer cancel()
	counts, err := count(ctx)
	if err != nil {
		return // requests report errors of the store
	}
	for _, c := range boundTenants(counts) {
		samples <- prometheus.MustNewConstMetric(TenantSessions(), prometheus.GaugeValue, float64(c.N), c.Tenant, string(c.State))
	}
}

// boundTenants keeps the tenants with the most sessions.
func boundTenants(counts []TenantCount) []TenantCount {
	sums := map[string]int{}
	for _, c := range counts {
		sums[c.Tenant] += c.N
	}
	if len(sums) <= maxTenants {
		return counts
	}
	var names []string
	for name := range sums {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	others := map[yurt.SessionState]int{}
	var kept []TenantCount
	for _, c := range counts {
		if slices.Contains(names[:maxTenants], c.Tenant) {
			kept = append(kept, c)
			continue
		}
		others[c.State] += c.N
	}
	for state, n := range others {
		kept = append(kept, TenantCount{otherTenants, state, n})
	}
	return kept
}
