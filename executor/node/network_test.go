package node_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestNetworksAreNotShared: whether its network was made ahead or not, each sandbox has
// one to itself, with a loopback interface that works and that its own root, were
// somebody to become that, could not change.
func TestNetworksAreNotShared(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	seen := map[string]string{link(t, "/proc/self/ns/net"): "the host"}
	host := link(t, "/proc/self/ns/user")
	for range 8 { // more than are made ahead
		s := testutil.Create(t, e)
		path := fmt.Sprintf("/proc/%d/ns/net", s.PID)
		network := link(t, path)
		if other := seen[network]; other != "" {
			t.Fatalf("%s shares its network with %s", s.ID, other)
		}
		seen[network] = s.ID
		if owner := ownerOf(t, path); owner != host {
			t.Errorf("the network of %s belongs to %s, the host is %s", s.ID, owner, host)
		}
		r := testutil.Run(t, e, s.ID, "exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/1'")
		if want := "Connection refused"; !strings.Contains(r.Stderr+r.Stdout, want) { // and not that it is unreachable
			t.Errorf("connecting to itself, %s says %q %q", s.ID, r.Stdout, r.Stderr)
		}
	}
}

func link(t *testing.T, path string) string {
	t.Helper()
	target, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// ownerOf returns the user namespace that the namespace at path belongs to.
func ownerOf(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	owner, err := unix.IoctlRetInt(int(file.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(owner)
	return link(t, fmt.Sprintf("/proc/self/fd/%d", owner))
}
