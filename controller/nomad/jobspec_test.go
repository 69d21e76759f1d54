package nomad

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
)

func testOrder() cluster.Order {
	return cluster.Order{
		SlotID:    "slot_1",
		Template:  yurt.Template{Name: "python", Env: map[string]string{"A": "${NOMAD_ALLOC_ID}"}},
		Resources: yurt.Resources{CPU: 0.5, Memory: 100<<20 + 1, Disk: 64 << 20, PIDs: 32},
		SessionID: "sess_1",
		Once:      true,
		Prefer:    []string{"a", "b"},
		Avoid:     []string{"c"},
	}
}

func parsed() *api.Job {
	group := api.NewTaskGroup("slot", 1)
	group.Tasks = []*api.Task{{Name: "log", Driver: "raw_exec", Lifecycle: &api.TaskLifecycle{Sidecar: true}}, {Name: "sandbox", Driver: driver}}
	return &api.Job{TaskGroups: []*api.TaskGroup{group}, Meta: map[string]string{"team": "a"}, Affinities: []*api.Affinity{api.NewAffinity("${node.class}", "=", "big", 10)}}
}

func TestJobOfASlot(t *testing.T) {
	spec, err := newJobspec(parsed(), &Config{Datacenters: []string{"dc7"}, NodePool: "pool", Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	order, before := testOrder(), len(spec.job.Constraints)
	job, err := spec.fill(&order, 2400)
	if err != nil {
		t.Fatal(err)
	}
	task := job.TaskGroups[0].Tasks[1]
	slot := task.Config["slot"].([]map[string]any)[0]
	var template yurt.Template
	if err := json.Unmarshal([]byte(slot["template_json"].(string)), &template); err != nil {
		t.Fatal(err)
	}
	delete(slot, "template_json")
	got := []any{
		*job.ID, *job.Type, *job.Priority, *job.NodePool, *job.Namespace, job.Datacenters, job.Meta,
		*task.Resources.CPU, *task.Resources.MemoryMB, *job.TaskGroups[0].EphemeralDisk.SizeMB, slot, task.Config["resources"], template.Digest(),
		len(job.Constraints) == before+1 && *job.Constraints[before] == *api.NewConstraint("${node.unique.name}", "!=", "c"),
		job.Affinities[1].RTarget, *job.Affinities[1].Weight > *job.Affinities[2].Weight,
	}
	want := []any{
		"yurt-slot_1", "batch", 60, "pool", "ns",
		[]string{"dc7"},
		map[string]string{"team": "a", "yurt_slot": "slot_1", "yurt_session": "sess_1", "yurt_template": "python", "yurt_digest": order.Template.Digest()},
		1200, 101, 10,
		map[string]any{"id": "slot_1", "for": "sess_1", "once": true},
		[]map[string]any{{"cpu": 0.5, "memory": "104857601", "disk": "64Mi", "pids": 32}},
		order.Template.Digest(),
		true,
		"a", true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
}

// TestImagesNeedNodesThatAllowThem: the slot of a template with an image avoids nodes whose operator forbids images.
func TestImagesNeedNodesThatAllowThem(t *testing.T) {
	spec, err := newJobspec(parsed(), &Config{})
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]bool{"": false, "docker.io/library/debian": true} {
		order := testOrder()
		order.Template.RootFS.Image = image
		job, err := spec.fill(&order, 2400)
		if err != nil {
			t.Fatal(err)
		}
		constrained := slices.ContainsFunc(job.Constraints, func(c *api.Constraint) bool {
			return *c == *api.NewConstraint("${attr.driver.yurt.images}", "!=", "false")
		})
		if constrained != want {
			t.Errorf("with the image %q the job is for nodes that allow images: %t, want %t", image, constrained, want)
		}
	}
}

// The node makes the slot's sandbox with the limits that its session asks for itself.
func TestLimitsOfASlotsOwn(t *testing.T) {
	spec, err := newJobspec(parsed(), &Config{})
	if err != nil {
		t.Fatal(err)
	}
	order := testOrder()
	order.Template.Resources = yurt.Resources{DiskKind: yurt.DiskImage, IOWeight: 7, Ulimits: yurt.Ulimits{NoFile: 99}}
	order.Resources = order.Resources.Or(order.Template.Resources)
	order.Resources.DiskKind, order.Resources.Ulimits.FSize = yurt.DiskMemory, 1<<20
	job, err := spec.fill(&order, 1000)
	if err != nil {
		t.Fatal(err)
	}
	config := job.TaskGroups[0].Tasks[1].Config
	got := []any{config["resources"], config["ulimits"], *job.TaskGroups[0].EphemeralDisk.SizeMB}
	want := []any{
		[]map[string]any{{"cpu": 0.5, "memory": "104857601", "disk": "64Mi", "pids": 32, "disk_kind": "memory"}},
		map[string]string{"nofile": "99", "fsize": "1048576"},
		minDiskMB,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

// The fields of one order must not show in the next.
func TestTheJobspecStaysAsItIs(t *testing.T) {
	job := parsed()
	spec, err := newJobspec(job, &Config{})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(job)
	order := testOrder()
	order.Resources.DiskKind = yurt.DiskImage
	first, err := spec.fill(&order, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(job); !bytes.Equal(after, before) {
		t.Errorf("the jobspec was %s and is %s", before, after)
	}
	if got := *first.TaskGroups[0].EphemeralDisk.SizeMB; got != 64 {
		t.Errorf("the disk has %d MB; want 64: a disk in a file is the node's", got)
	}
	order.SessionID = ""
	second, err := spec.fill(&order, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if *second.Priority >= *first.Priority {
		t.Errorf("a warm slot has priority %d, one that is waited for %d", *second.Priority, *first.Priority)
	}
	if _, found := second.TaskGroups[0].Tasks[1].Config["slot"].([]map[string]any)[0]["for"]; found {
		t.Error("a warm slot is for a session")
	}
}

func TestJobspecsThatMakeNoSlots(t *testing.T) {
	service := "service"
	two := 2
	for name, tt := range map[string]struct {
		change func(*api.Job)
		want   string
	}{
		"service":     {func(j *api.Job) { j.Type = &service }, `"service"`},
		"periodic":    {func(j *api.Job) { j.Periodic = &api.PeriodicConfig{} }, "periodic"},
		"no group":    {func(j *api.Job) { j.TaskGroups = nil }, "0 groups"},
		"two of them": {func(j *api.Job) { j.TaskGroups[0].Count = &two }, "count = 2"},
		"no task":     {func(j *api.Job) { j.TaskGroups[0].Tasks = nil }, "0 tasks"},
		"two tasks":   {func(j *api.Job) { j.TaskGroups[0].Tasks[0].Driver = driver }, "2 tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			job := parsed()
			tt.change(job)
			_, err := newJobspec(job, &Config{})
			if yurt.CodeOf(err) != yurt.CodeInvalidArgument || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v; want one that names %s", err, tt.want)
			}
		})
	}
}

func TestMeanCore(t *testing.T) {
	node := func(status, pool string, shares int64, cores uint16) *api.NodeListStub {
		return &api.NodeListStub{Status: status, NodePool: pool, NodeResources: &api.NodeResources{Cpu: api.NodeCpuResources{CpuShares: shares, TotalCpuCores: cores}}}
	}
	nodes := []*api.NodeListStub{node("ready", "default", 8000, 4), node("ready", "fast", 12000, 3), node("down", "default", 100, 1), {Status: "ready"}}
	if got := meanCore(nodes, ""); got != 20000.0/7 {
		t.Errorf("mean of all is %v", got)
	}
	if got := meanCore(nodes, "fast"); got != 4000 {
		t.Errorf("mean of the pool is %v; want 4000", got)
	}
	if got := meanCore(nodes, "none"); got != 0 {
		t.Errorf("mean of nothing is %v; want 0", got)
	}
}
