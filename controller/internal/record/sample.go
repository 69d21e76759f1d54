package record

import (
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/meter"
)

const sampleColumns = "tenant, session_id, at, sessions, cpu, cpu_seconds, memory, disk"

const (
	// SelectSamples reads the samples of a tenant and a session from a time on.
	SelectSamples = "SELECT " + sampleColumns + " FROM usage_samples WHERE tenant = ? AND session_id = ? AND at >= ? ORDER BY at"
	// PurgeSamples removes at most so many samples from before a time.
	PurgeSamples = `DELETE FROM usage_samples WHERE (tenant, session_id, at) IN
		(SELECT tenant, session_id, at FROM usage_samples WHERE at < ? ORDER BY at LIMIT ?)`
)

// InsertSamples returns the statement that adds so many samples, which leaves those that are there as they are.
func InsertSamples(n int) string {
	const row = "(?, ?, ?, ?, ?, ?, ?, ?)"
	return "INSERT INTO usage_samples (" + sampleColumns + ") VALUES " + row + strings.Repeat(", "+row, n-1) + " ON CONFLICT (tenant, session_id, at) DO NOTHING"
}

// SamplesArgs returns the arguments of [SelectSamples].
func SamplesArgs(tenant, sessionID string, since time.Time) []any {
	from := int64(0)
	if !since.IsZero() {
		from = since.UnixNano()
	}
	return []any{tenant, sessionID, from}
}

// SampleValues returns the stored values of samples, one after the other.
func SampleValues(samples []meter.Sample) []any {
	values := make([]any, 0, 8*len(samples))
	for _, s := range samples {
		values = append(values, s.Tenant, s.SessionID, s.At.UnixNano(), s.Sessions, s.CPU, s.CPUSeconds, int64(s.Memory), int64(s.Disk))
	}
	return values
}

// ScanSample reads the columns of a sample.
func ScanSample(row Row) (s meter.Sample, err error) {
	var at, memory, disk int64
	err = row.Scan(&s.Tenant, &s.SessionID, &at, &s.Sessions, &s.CPU, &s.CPUSeconds, &memory, &disk)
	s.At = FromNanos(at)
	s.Memory, s.Disk = yurt.Size(memory), yurt.Size(disk)
	return s, err
}
