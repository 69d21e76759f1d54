package httpapi

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the API's metrics of its requests.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streams  prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "yurt_http_requests_total",
			Help: "Requests that were answered.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "yurt_http_request_duration_seconds",
			Help:    "Time to the end of the response, including that of an execution or a stream.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 3, 14),
		}, []string{"method", "route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "yurt_http_event_streams",
			Help: "Event streams that are open.",
		}),
	}
	for _, collector := range []prometheus.Collector{m.requests, m.duration, m.streams} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the API's metrics: %w", err)
		}
	}
	return m, nil
}

// answered counts a request. Methods and routes come from the mux, so that clients
// cannot make up labels.
func (m *metrics) answered(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(method, route).Observe(took.Seconds())
}
