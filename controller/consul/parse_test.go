package consul

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
)

func digestOf(letter string) string { return strings.Repeat(letter, digestLength) }

func capacity() yurt.Capacity {
	return yurt.Capacity{
		Node: "node-1", Address: "10.0.0.1:8701", Draining: true,
		Free: yurt.Resources{CPU: 2, Memory: 1 << 30},
		Templates: map[string]yurt.TemplateCapacity{
			digestOf("a"): {Template: "python", Warm: 3, Slots: 5, Claimed: 2, Cached: true},
			digestOf("b"): {Template: "node", Slots: 1},
		},
	}
}

func marshal(t testing.TB, c yurt.Capacity) []byte {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWhatANodeSays(t *testing.T) {
	now := time.Unix(1000, 0)
	got, err := parse("node-1", marshal(t, capacity()), now)
	if err != nil {
		t.Fatal(err)
	}
	want := cluster.NodeState{
		Name: "node-1", Address: "10.0.0.1:8701", Healthy: true, Draining: true, Warm: map[string]int{digestOf("a"): 3},
		Open: 6, Claimed: 2, Free: yurt.Resources{CPU: 2, Memory: 1 << 30}, Templates: []string{digestOf("a")}, UpdatedAt: now, Capacity: capacity(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestWhatNoNodeMaySay(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*yurt.Capacity)
		want   string
	}{
		"another's name":     {func(c *yurt.Capacity) { c.Node = "node-2" }, "node-2"},
		"no port":            {func(c *yurt.Capacity) { c.Address = "10.0.0.1" }, "host:port"},
		"port 0":             {func(c *yurt.Capacity) { c.Address = "10.0.0.1:0" }, "port"},
		"a path":             {func(c *yurt.Capacity) { c.Address = "evil/x:1" }, "host:port"},
		"a long host":        {func(c *yurt.Capacity) { c.Address = strings.Repeat("h", 300) + ":1" }, "host:port"},
		"no digest":          {func(c *yurt.Capacity) { c.Templates["x"] = yurt.TemplateCapacity{} }, "digest"},
		"fewer than nothing": {func(c *yurt.Capacity) { c.Templates[digestOf("a")] = yurt.TemplateCapacity{Warm: -1} }, "-1"},
		"more than there is": {func(c *yurt.Capacity) { c.Templates[digestOf("a")] = yurt.TemplateCapacity{Warm: 1 << 40} }, "counts"},
		"too many templates": {func(c *yurt.Capacity) {
			for i := range maxTemplates {
				c.Templates[fmt.Sprintf("%064x", i)] = yurt.TemplateCapacity{}
			}
		}, "templates"},
		"too much": {func(c *yurt.Capacity) { c.Version = strings.Repeat("v", maxValueBytes) }, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			c := capacity()
			tt.change(&c)
			if _, err := parse("node-1", marshal(t, c), time.Now()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v; want one that names %q", err, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("node-1", marshal(f, capacity()))
	f.Add("node-1", []byte(`{"node":"node-1"}`))
	f.Add("node-1", []byte(`{"node":"node-1","address":"[::1]:80","templates":null}`))
	f.Add("", []byte(`{}`))
	f.Add("n", []byte(`[`))
	f.Fuzz(func(t *testing.T, node string, value []byte) {
		state, err := parse(node, value, time.Unix(0, 0))
		if err != nil {
			return
		}
		if state.Name != node || state.Open < 0 || state.Claimed < 0 || len(state.Warm) > maxTemplates {
			t.Errorf("%q is %+v", value, state)
		}
		for digest, count := range state.Warm {
			if !validDigest(digest) || count < 1 || count > maxCount {
				t.Errorf("%q has %d of %q", value, count, digest)
			}
		}
	})
}
