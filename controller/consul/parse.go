package consul

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
)

// Bounds of a node's own entry.
const (
	maxValueBytes = 256 << 10
	maxTemplates  = 1000
	maxCount      = 1 << 20 // of sandboxes or slots
	maxName       = 255
	digestLength  = 64
)

// parse reads the value of a node's key.
func parse(node string, value []byte, now time.Time) (cluster.NodeState, error) {
	if len(value) > maxValueBytes {
		return cluster.NodeState{}, fmt.Errorf("it has %d bytes, more than %d", len(value), maxValueBytes)
	}
	var c yurt.Capacity
	if err := json.Unmarshal(value, &c); err != nil {
		return cluster.NodeState{}, err
	}
	if c.Node != node || node == "" || len(node) > maxName {
		return cluster.NodeState{}, fmt.Errorf("it is of the node %.40q", c.Node)
	}
	if err := checkAddress(c.Address); err != nil {
		return cluster.NodeState{}, err
	}
	if len(c.Templates) > maxTemplates {
		return cluster.NodeState{}, fmt.Errorf("it names %d templates, more than %d", len(c.Templates), maxTemplates)
	}
	state := cluster.NodeState{
		Name: node, Address: c.Address, Healthy: true, Draining: c.Draining, Free: c.Free, UpdatedAt: now, Capacity: c,
		Warm: make(map[string]int, len(c.Templates)),
	}
	for _, digest := range slices.Sorted(maps.Keys(c.Templates)) {
		t := c.Templates[digest]
		if err := checkTemplate(digest, &t); err != nil {
			return cluster.NodeState{}, err
		}
		if t.Warm > 0 {
			state.Warm[digest] = t.Warm
		}
		if t.Cached {
			state.Templates = append(state.Templates, digest)
		}
		state.Open += t.Slots
		state.Claimed += t.Claimed
	}
	return state, nil
}

func checkTemplate(digest string, t *yurt.TemplateCapacity) error {
	if !validDigest(digest) {
		return fmt.Errorf("%.80q is not the digest of a template", digest)
	}
	for _, count := range []int{t.Warm, t.Making, t.Slots, t.Claimed, t.Own} {
		if count < 0 || count > maxCount {
			return fmt.Errorf("it counts %d of the template %.12s", count, digest)
		}
	}
	if min(t.Claims, t.Cold, t.Refused) < 0 {
		return fmt.Errorf("it counts fewer than no claims of the template %.12s", digest)
	}
	return nil
}

// checkAddress refuses text that is not host:port. A node without an address serves no controllers, and is shown all the same.
func checkAddress(address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || len(host) > maxName || strings.ContainsAny(host, "/%?#@ ") {
		return fmt.Errorf("its address %.80q is not host:port", address)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("its address %.80q has no port", address)
	}
	return nil
}

func validDigest(digest string) bool {
	return len(digest) == digestLength && strings.Trim(digest, "0123456789abcdef") == ""
}
