package access

import (
	"time"

	"github.com/yurtrun/yurt"
)

// UsageSample is the use of a session, or of all sessions of a tenant, at a time.
type UsageSample struct {
	At       time.Time `json:"at"`
	Sessions int       `json:"sessions" doc:"Number of live sessions."`
	CPU      float64   `json:"cpu" doc:"Mean of the cores in use since the previous sample."`
	Memory   yurt.Size `json:"memory" doc:"Bytes of memory in use."`
	Disk     yurt.Size `json:"disk" doc:"Bytes in the workspaces at that time."`
}

// UsageHistory is the use of a tenant or of one of its sessions in the last 24 hours.
type UsageHistory struct {
	Tenant     string        `json:"tenant"`
	SessionID  string        `json:"session_id,omitempty"`
	Resolution yurt.Duration `json:"resolution" doc:"Time between two samples."`
	Samples    []UsageSample `json:"samples" doc:"Oldest first. A sample is missing if the tenant had no session at the time, or if no controller ran."`
}
