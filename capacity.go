package yurt

import "time"

// Capacity is what a node has to offer, as it tells those who place sessions.
type Capacity struct {
	Node    string `json:"node"`
	Address string `json:"address,omitempty"` // host:port of its API for controllers; "" without one
	Version string `json:"version,omitempty"` // of Yurt
	// Since is when the node's executor was started, from which on it counts.
	Since    time.Time `json:"since"`
	Draining bool      `json:"draining,omitempty"`  // it takes nothing new
	DiskFull bool      `json:"disk_full,omitempty"` // likewise, until there is room on it
	// Free is what of the node no sandbox and no slot has been promised.
	Free         Resources `json:"free"`
	Sandboxes    int       `json:"sandboxes"`
	MaxSandboxes int       `json:"max_sandboxes"`
	// Templates says what is there of each template, by its digest. A template is named
	// as long as there is a slot or a sandbox of it, or it is among those used last.
	Templates map[string]TemplateCapacity `json:"templates,omitempty"`
}

// TemplateCapacity is what a node has of one template.
type TemplateCapacity struct {
	Template string `json:"template"`         // its name
	Warm     int    `json:"warm,omitempty"`   // to be claimed now by whoever wants it
	Making   int    `json:"making,omitempty"` // slots of anybody's whose sandbox is not there yet
	Slots    int    `json:"slots,omitempty"`  // that are open, whatever their state
	Claimed  int    `json:"claimed,omitempty"`
	Own      int    `json:"own,omitempty"`    // of the slots, those that are for one session alone
	Cached   bool   `json:"cached,omitempty"` // the node has made a sandbox of it since it was started
	// What was handed out since [Capacity.Since]: Claims from what was ready, Cold when it
	// had been made for who asked. Refused are claims that found none.
	Claims  int64 `json:"claims,omitempty"`
	Cold    int64 `json:"cold,omitempty"`
	Refused int64 `json:"refused,omitempty"`
}
