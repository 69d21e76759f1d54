package yurt

import "time"

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
