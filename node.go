package yurt

import "time"

// Capacity is the room that a node has to offer, as it tells the controllers that place sessions.
type Capacity struct {
	Node    string `json:"node"`
	Address string `json:"address,omitempty"` // host:port of its API for controllers; "" without one
	Version string `json:"version,omitempty"` // of Yurt
	// Since is when the node's executor was started, from which on it counts.
	Since    time.Time `json:"since"`
	Draining bool      `json:"draining,omitempty"`  // it takes no new sandboxes
	DiskFull bool      `json:"disk_full,omitempty"` // likewise, until there is room on it
	// Free is the part of the node that is promised to neither a sandbox nor a slot.
	Free         Resources     `json:"free"`
	Memory       MemoryPromise `json:"memory"`
	Sandboxes    int           `json:"sandboxes"`
	MaxSandboxes int           `json:"max_sandboxes"`
	// Templates counts the slots and sandboxes of each template, by its digest. A template is named
	// as long as there is a slot or a sandbox of it, or it is among those used last.
	Templates map[string]TemplateCapacity `json:"templates,omitempty"`
}

// MemoryPromise is the memory of all sandboxes of a node together. Zeros are from a node that does not say.
type MemoryPromise struct {
	Limit      Size `json:"limit"`      // they take at most this together
	Promised   Size `json:"promised"`   // the sum of their own limits, and of slots
	Promisable Size `json:"promisable"` // a sandbox by which the sum would pass this is refused
}

// TemplateCapacity is the part of a node's capacity that belongs to one template.
type TemplateCapacity struct {
	Template string `json:"template"`         // its name
	Warm     int    `json:"warm,omitempty"`   // can be claimed now by any session of the template
	Making   int    `json:"making,omitempty"` // slots of anybody's whose sandbox is not there yet
	Slots    int    `json:"slots,omitempty"`  // open slots, in any state
	Claimed  int    `json:"claimed,omitempty"`
	Own      int    `json:"own,omitempty"`    // of the slots, those that are for one session alone
	Cached   bool   `json:"cached,omitempty"` // the node has made a sandbox of it since it was started
	// Counts since [Capacity.Since]: Claims took a sandbox that was ready, Cold waited until one
	// was made, Refused found no sandbox.
	Claims  int64 `json:"claims,omitempty"`
	Cold    int64 `json:"cold,omitempty"`
	Refused int64 `json:"refused,omitempty"`
}

// NodeInfo describes a node: its name, state and capacity.
type NodeInfo struct {
	Name     string     `json:"name"`
	Address  string     `json:"address,omitempty"` // host:port at which controllers reach it; "" in this process
	Healthy  bool       `json:"healthy"`           // it answers
	Draining bool       `json:"draining"`          // it takes no new sandboxes
	EndsBy   *time.Time `json:"ends_by,omitempty"` // when Nomad ends the node's allocations, while it drains the node with a deadline
	// NomadStatus is Nomad's word for a node whose client it does not reach, such as
	// "disconnected" or "down"; "" while it does. Sessions and warm sandboxes go on there, and
	// those that have to be started are placed on other nodes.
	NomadStatus string `json:"nomad_status,omitempty"`

	Warm    map[string]int `json:"warm"`    // sandboxes ready to be claimed, by template, or by its digest where the name is not known
	Slots   int            `json:"slots"`   // room that is granted, each for one sandbox
	Claimed int            `json:"claimed"` // the part of that which sessions have
	Free    Resources      `json:"free"`    // can still be granted; zeros where the node does not count
	// Memory is that of all sandboxes together; zeros where the node does not say.
	Memory    MemoryPromise `json:"memory"`
	UpdatedAt time.Time     `json:"updated_at"` // when this was heard
}

// Drain is the outcome of a request to drain a node, or to undo that.
type Drain struct {
	Node     string     `json:"node"`
	Draining bool       `json:"draining"`
	Sessions int        `json:"sessions"`          // that were told so
	EndsBy   *time.Time `json:"ends_by,omitempty"` // when those end that have not ended by themselves
}
