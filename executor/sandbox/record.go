package sandbox

import (
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// Record is the state of a sandbox on disk, from the moment it is ready until it is destroyed.
type Record struct {
	Version   int                `json:"version"`
	Spec      yurt.SandboxSpec   `json:"spec"`
	IDBase    uint32             `json:"id_base"`
	CreatedAt time.Time          `json:"created_at"`
	Init      procid.ID          `json:"init"`
	Warm      bool               `json:"warm,omitempty"` // in the reserve: no session has it yet
	Slot      string             `json:"slot,omitempty"` // that it is in
	Phases    map[string]float64 `json:"phases_ms"`
	PausedAt  *time.Time         `json:"paused_at,omitempty"`  // nil while it runs
	PausedFor time.Duration      `json:"paused_for,omitempty"` // by all pauses that ended
	Layers    []string           `json:"layers,omitempty"`     // that are mounted, or about to be
	Installs  bool               `json:"installs,omitempty"`   // it is the executor's own, and installs packages
	Image     string             `json:"image,omitempty"`      // key of the one that its root is; "" for none
	Path      []string           `json:"path,omitempty"`       // directories of the toolchains' commands, at the end of PATH
	// Installed are the layers that commands of the session had installed, in this order.
	Installed []InstalledLayer `json:"installed,omitempty"`
	// Installable says that it has the commands that install packages.
	Installable bool `json:"installable,omitempty"`
}

// InstalledLayer is a layer that a command of the session had installed.
type InstalledLayer struct {
	Runtime string `json:"runtime"`
	Digest  string `json:"digest"`
}
