package quota

import (
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// Window is the time that the quota of creates is about.
const Window = time.Minute

// endPause is when to ask again for something that another session or execution has to end for.
const endPause = 5 * time.Second

// AdmitSession returns nil when a tenant that uses so much may have one session more. The use is without that session; oldest is when
// the first session of the last minute was made.
func AdmitSession(q access.Quotas, used access.Usage, oldest time.Time, session yurt.Session) error {
	const cure = "end sessions, or ask the operator for more"
	if over(q.CreatesPerMinute, used.CreatesPerMinute, 1) {
		err := exceeded("creates_per_minute", float64(used.CreatesPerMinute), float64(*q.CreatesPerMinute), "wait a moment, or ask the operator for more")
		err.RetryAfter = max(time.Second, oldest.Add(Window).Sub(session.CreatedAt))
		return err
	}
	r := session.Resources
	switch {
	case over(q.Sessions, used.Sessions, 1):
		return exceeded("sessions", float64(used.Sessions), float64(*q.Sessions), cure)
	case over(q.CPU, used.CPU, r.CPU-slack):
		return exceeded("cpu", used.CPU, *q.CPU, cure)
	case over(q.Memory, used.Memory, r.Memory):
		return exceeded("memory", float64(used.Memory), float64(*q.Memory), cure)
	case over(q.Disk, used.Disk, r.Disk):
		return exceeded("disk", float64(used.Disk), float64(*q.Disk), cure)
	default:
		return nil
	}
}

// slack is for sums of cores, which are not exact: ten sessions with a tenth of a core fit into one core.
const slack = 1e-6

// AdmitExecution returns nil when a tenant that has so many executions at once may have one more.
func AdmitExecution(q access.Quotas, running int) error {
	if over(q.Executions, running, 1) {
		return exceeded("executions", float64(running), float64(*q.Executions), "wait until one ends, or ask the operator for more")
	}
	return nil
}

func over[T int | float64 | yurt.Size](most *T, used, more T) bool {
	return most != nil && used+more > *most
}

// exceeded is the error for a tenant that is over a quota.
func exceeded(name string, used, limit float64, cure string) *yurt.Error {
	err := yurt.Errorf(yurt.CodeQuotaExceeded, "the request would exceed the quota %s of the tenant: %v of %v are in use; %s", name, shown(name, used), shown(name, limit), cure)
	err.RetryAfter = endPause
	err.Quota = &yurt.QuotaUse{Name: name, Used: used, Limit: limit}
	return err
}

// shown writes a figure of a quota: sizes with a unit, and whole numbers without an exponent.
func shown(name string, figure float64) any {
	whole := int64(figure)
	switch {
	case float64(whole) != figure:
		return figure
	case slices.Contains([]string{"memory", "disk", "storage"}, name):
		return yurt.Size(whole)
	default:
		return whole
	}
}
