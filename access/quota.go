package access

import (
	"math"

	"github.com/yurtrun/yurt"
)

// Quotas bound the use of a tenant. A quota that is nil is no bound, and one of 0 refuses every request.
type Quotas struct {
	Sessions         *int       `json:"sessions,omitempty" minimum:"0" doc:"Sessions at the same time, including paused ones."`
	CreatesPerMinute *int       `json:"creates_per_minute,omitempty" minimum:"0" doc:"Sessions that are created per minute."`
	CPU              *float64   `json:"cpu,omitempty" minimum:"0" doc:"Cores of all sessions together."`
	Memory           *yurt.Size `json:"memory,omitempty" doc:"Bytes of memory of all sessions together."`
	Disk             *yurt.Size `json:"disk,omitempty" doc:"Bytes of the workspaces of all sessions together."`
	Executions       *int       `json:"executions,omitempty" minimum:"0" doc:"Executions that run at the same time."`
	Storage          *yurt.Size `json:"storage,omitempty" doc:"Bytes of kept results. Above this quota no execution starts; it is checked every 5 s."`
}

// Usage is the use of a tenant, of each kind that a quota can bound.
type Usage struct {
	Sessions         int       `json:"sessions"`
	CreatesPerMinute int       `json:"creates_per_minute" doc:"Sessions that were created within the last minute."`
	CPU              float64   `json:"cpu"`
	Memory           yurt.Size `json:"memory"`
	Disk             yurt.Size `json:"disk"`
	Executions       int       `json:"executions"`
	Storage          yurt.Size `json:"storage"`
}

// TenantUsage is a tenant with its quotas and its use.
type TenantUsage struct {
	Tenant string `json:"tenant"`
	Quotas Quotas `json:"quotas" doc:"The quotas of the tenant. An absent quota has no limit."`
	Usage  Usage  `json:"usage"`
}

// maxQuota bounds a quota that counts, so that each client reads it as a number.
const maxQuota = 1 << 30

// maxQuotaBytes and maxQuotaCPU bound the others.
const (
	maxQuotaBytes yurt.Size = 1 << 50
	maxQuotaCPU             = 1 << 20
)

// Check refuses quotas that cannot be.
func (q Quotas) Check() error {
	for field, value := range map[string]*int{"sessions": q.Sessions, "creates_per_minute": q.CreatesPerMinute, "executions": q.Executions} {
		if value != nil && (*value < 0 || *value > maxQuota) {
			return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, field, "%d is out of range; give 0 to %d, or leave it out for no quota", *value, maxQuota)
		}
	}
	for field, value := range map[string]*yurt.Size{"memory": q.Memory, "disk": q.Disk, "storage": q.Storage} {
		if value != nil && (*value < 0 || *value > maxQuotaBytes) {
			return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, field, "%d is out of range; give 0 to %s, or leave it out for no quota", *value, maxQuotaBytes)
		}
	}
	if q.CPU != nil && (math.IsNaN(*q.CPU) || *q.CPU < 0 || *q.CPU > maxQuotaCPU) {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "cpu", "%v is out of range; give 0 to %d cores, or leave it out for no quota", *q.CPU, maxQuotaCPU)
	}
	return nil
}
