package yurt

import "time"

// SandboxStats are the resources that a sandbox uses, and its limits.
type SandboxStats struct {
	At               time.Time `json:"at"`
	CPUSeconds       float64   `json:"cpu_seconds"` // since it was made
	CPULimit         float64   `json:"cpu_limit"`   // cores
	MemoryBytes      int64     `json:"memory_bytes"`
	MemoryPeakBytes  int64     `json:"memory_peak_bytes"` // 0 where the kernel does not say
	MemoryLimitBytes int64     `json:"memory_limit_bytes"`
	PIDs             int       `json:"pids"` // processes and threads
	PIDsLimit        int       `json:"pids_limit"`
	DiskBytes        int64     `json:"disk_bytes"` // of the workspace
	DiskLimitBytes   int64     `json:"disk_limit_bytes"`
	// Of block devices. 0 where the kernel does not say: with cgroup version 1 from Linux 6.10 on, or without an io_weight.
	IOReadBytes    int64 `json:"io_read_bytes"`
	IOWriteBytes   int64 `json:"io_write_bytes"`
	NetworkRxBytes int64 `json:"network_rx_bytes"` // of all interfaces but the loopback
	NetworkTxBytes int64 `json:"network_tx_bytes"`
}

// SandboxHealth tells whether a sandbox works, and its use of its limits.
type SandboxHealth struct {
	At          time.Time    `json:"at"`
	State       SandboxState `json:"state"`
	Reason      string       `json:"reason,omitempty"`  // of a dead sandbox
	InitAnswers bool         `json:"init_answers"`      // its first process, which starts and reaps all others
	InitMS      float64      `json:"init_ms,omitempty"` // milliseconds until it answered
	// OOMKills counts the processes of the sandbox that the kernel has ended because its memory ran out.
	OOMKills int64         `json:"oom_kills"`
	Usage    *SandboxStats `json:"usage,omitempty"` // not of a dead sandbox
}

// Process is a process in a sandbox.
type Process struct {
	PID         int      `json:"pid"` // inside the sandbox
	ParentPID   int      `json:"parent_pid"`
	ExecutionID string   `json:"execution_id"` // it was started by, which may have ended
	Name        string   `json:"name"`
	Args        []string `json:"args"` // at most the first 4096 bytes of them
	State       string   `json:"state"`
	MemoryBytes int64    `json:"memory_bytes"` // resident
}
