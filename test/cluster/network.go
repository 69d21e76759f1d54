package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Network is a wire between hosts, which this machine sees too.
type Network struct {
	bridge string
	prefix string // "198.18.7."
	hosts  []*Host
}

// Host is a machine of its own as far as the network goes: agents started on it, and all
// that they start, have its address alone. Not safe for concurrent use.
type Host struct {
	Name    string
	Address string

	network *Network
	port    string // of the bridge, the end of the wire that is not the host's
}

// NewNetwork makes an empty one, in a range that is kept for tests of equipment.
func NewNetwork(ctx context.Context) (*Network, error) {
	n := &Network{bridge: unique("yt")}
	for range 50 {
		n.prefix = fmt.Sprintf("198.%d.%d.", 18+rand.IntN(2), rand.IntN(256))
		if !inUse(n.prefix) {
			break
		}
	}
	for _, args := range [][]string{
		{"link", "add", n.bridge, "type", "bridge"},
		{"addr", "add", n.prefix + "1/24", "dev", n.bridge},
		{"link", "set", n.bridge, "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			return nil, errors.Join(err, n.Close(context.WithoutCancel(ctx)))
		}
	}
	return n, nil
}

// TestNetwork is one for the test, without which it ends.
func TestNetwork(t testing.TB) *Network {
	t.Helper()
	n, err := NewNetwork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("removing the network: %v", err)
		}
	})
	return n
}

func inUse(prefix string) bool {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false // making the bridge reports the error
	}
	for _, a := range addresses {
		if strings.HasPrefix(a.String(), prefix) {
			return true
		}
	}
	return false
}

// Address returns the one that this machine has on the network.
func (n *Network) Address() string { return n.prefix + "1" }

// Host joins a new host to the network.
func (n *Network) Host(ctx context.Context) (*Host, error) {
	number := len(n.hosts) + 2
	if number > 254 {
		return nil, errors.New("a network has 253 hosts at the most")
	}
	h := &Host{Name: fmt.Sprintf("%s-%d", n.bridge, number), Address: fmt.Sprintf("%s%d", n.prefix, number), network: n}
	h.port = fmt.Sprintf("%sp%d", n.bridge, number)
	n.hosts = append(n.hosts, h) // also one that is half made has to be removed
	for _, args := range [][]string{
		{"netns", "add", h.Name},
		{"link", "add", h.port, "type", "veth", "peer", "name", "eth0", "netns", h.Name},
		{"link", "set", h.port, "master", n.bridge, "up"},
		{"-n", h.Name, "addr", "add", h.Address + "/24", "dev", "eth0"},
		{"-n", h.Name, "link", "set", "eth0", "up"},
		{"-n", h.Name, "link", "set", "lo", "up"},
		{"-n", h.Name, "route", "add", "default", "via", n.Address()},
	} {
		if err := ip(ctx, args...); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// TestHost joins a new host, or ends the test.
func (n *Network) TestHost(t testing.TB) *Host {
	t.Helper()
	h, err := n.Host(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *Host) netns() string { return filepath.Join("/run/netns", h.Name) }

// CutOff takes the host off the network, in both directions.
func (h *Host) CutOff(ctx context.Context) error { return ip(ctx, "link", "set", h.port, "down") }

// Mend puts it back.
func (h *Host) Mend(ctx context.Context) error { return ip(ctx, "link", "set", h.port, "up") }

// Slow lets at most the given kilobits a second through, each way.
func (h *Host) Slow(ctx context.Context, kilobits int) error {
	rate := []string{"root", "tbf", "rate", fmt.Sprintf("%dkbit", kilobits), "burst", "16kb", "latency", "2s"}
	toHost := append([]string{"tc", "qdisc", "replace", "dev", h.port}, rate...)
	fromHost := append([]string{"tc", "-n", h.Name, "qdisc", "replace", "dev", "eth0"}, rate...)
	return errors.Join(run(ctx, toHost...), run(ctx, fromHost...))
}

// FullSpeed undoes Slow.
func (h *Host) FullSpeed(ctx context.Context) error {
	return errors.Join(run(ctx, "tc", "qdisc", "del", "dev", h.port, "root"),
		run(ctx, "tc", "-n", h.Name, "qdisc", "del", "dev", "eth0", "root"))
}

// Close removes the hosts and the wire. Processes on the hosts must have ended.
func (n *Network) Close(ctx context.Context) error {
	var errs []error
	for _, h := range n.hosts {
		if err := ip(ctx, "link", "del", h.port); err != nil && !missing(err) {
			errs = append(errs, err)
		}
		if err := ip(ctx, "netns", "del", h.Name); err != nil && !missing(err) {
			errs = append(errs, err)
		}
	}
	if err := ip(ctx, "link", "del", n.bridge); err != nil && !missing(err) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func missing(err error) bool {
	return strings.Contains(err.Error(), "Cannot find device") || strings.Contains(err.Error(), "No such file")
}

func ip(ctx context.Context, args ...string) error {
	return run(ctx, append([]string{"ip"}, args...)...)
}

func run(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
