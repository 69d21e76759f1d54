package faults

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/announce"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestAnnouncedExecutor: a controller finds an executor by Consul, and claims sandboxes in its
// slots. Killed and started again it is announced with its new state; stopped it is not.
func TestAnnouncedExecutor(t *testing.T) {
	testutil.NeedsSandboxes(t)
	consul := cluster.Consul(t, cluster.ConsulOptions{})
	d, controller, _ := newTLSDaemon(t, "--consul", consul.Address)
	digest := reservedTemplate().Digest()
	until := func(what string, good func(yurt.Capacity) bool) yurt.Capacity {
		t.Helper()
		var now yurt.Capacity
		testutil.Eventually(t, what, func() bool {
			pair, _, err := consul.Client.KV().Get(announce.KeyPrefix+"test", nil)
			now = yurt.Capacity{}
			if err == nil && pair != nil {
				if err := json.Unmarshal(pair.Value, &now); err != nil {
					t.Fatal(err)
				}
			}
			return good(now)
		})
		return now
	}
	until("it is announced", func(c yurt.Capacity) bool { return c.Address != "" && len(c.Templates) == 0 })
	if _, err := d.OpenSlot(t.Context(), slotOf("a")); err != nil {
		t.Fatal(err)
	}
	warm := until("there is something to claim", func(c yurt.Capacity) bool { return c.Templates[digest].Warm == 1 })
	remote, err := api.NewTLSClient(warm.Address, warm.Node, controller)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	if _, found, err := remote.ClaimSandbox(t.Context(), claimOf("one")); err != nil || !found {
		t.Fatalf("a claim found %t, %v", found, err)
	}
	claimed := func(c yurt.Capacity) bool { return c.Templates[digest].Warm == 0 && c.Templates[digest].Claimed == 1 }
	before := until("it is claimed", claimed)
	if before.Templates[digest].Claims != 1 {
		t.Errorf("it says %+v", before)
	}
	d.stop(syscall.SIGKILL)
	d.start()
	until("its next life is announced", func(c yurt.Capacity) bool { return c.Since.After(before.Since.Add(time.Millisecond)) && claimed(c) })
	d.stop(syscall.SIGTERM)
	if pair, _, err := consul.Client.KV().Get(announce.KeyPrefix+"test", nil); err != nil || pair != nil {
		t.Errorf("stopped, it is still announced: %+v, %v", pair, err)
	}
}
