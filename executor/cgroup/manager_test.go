package cgroup

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
)

func readMounts(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFindMounts(t *testing.T) {
	const root = "/sys/fs/cgroup"
	tests := []struct {
		mounts  string
		version int
		v2      string
		v1      map[string]string
		missing string // the file that the check reports as missing
	}{
		{mounts: "hybrid", version: 1, v1: map[string]string{
			"cpu": root + "/cpu", "cpuacct": root + "/cpuacct", "memory": root + "/memory",
			"devices": root + "/devices", "freezer": root + "/freezer", "pids": root + "/pids",
			"cpuset": root + "/cpuset",
		}},
		{mounts: "v1-systemd", version: 1, v1: map[string]string{
			"cpu": root + "/cpu,cpuacct", "cpuacct": root + "/cpu,cpuacct", "memory": root + "/memory",
			"devices": root + "/devices", "freezer": root + "/freezer", "pids": root + "/pids",
		}},
		{mounts: "v2", version: 2, v2: root, v1: map[string]string{}},
		{mounts: "v2-and-a-part-of-v1", version: 2, v2: root, v1: map[string]string{}},
		{mounts: "v1-without-pids", version: 1, missing: `"pids"`, v1: map[string]string{
			"cpu": root + "/cpu", "cpuacct": root + "/cpu", "memory": root + "/memory", "freezer": root + "/freezer",
		}},
		{mounts: "none", version: 1, missing: `"memory"`, v1: map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.mounts, func(t *testing.T) {
			m := &Manager{parent: "yurt-test", v1: make(map[string]string)}
			if err := m.findMounts(bytes.NewReader(readMounts(t, tt.mounts))); err != nil {
				t.Fatal(err)
			}
			if m.Version() != tt.version || m.v2 != tt.v2 {
				t.Errorf("it is version %d at %q, want %d at %q", m.Version(), m.v2, tt.version, tt.v2)
			}
			if d := cmp.Diff(tt.v1, m.v1); d != "" {
				t.Error(d)
			}
			if tt.version == 2 {
				return // the check reads files of the mount
			}
			switch err := m.check(); {
			case tt.missing == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case tt.missing != "" && (yurt.CodeOf(err) != yurt.CodeLimitNotEnforceable || !strings.Contains(err.Error(), tt.missing)):
				t.Errorf("got %v, want that it names %s", err, tt.missing)
			}
		})
	}
}

// TestControllersOfV2 has trees that hand out more or less than limits take.
func TestControllersOfV2(t *testing.T) {
	for controllers, missing := range map[string]string{
		"cpuset cpu io memory hugetlb pids rdma misc\n": "",
		"memory cpu pids\n":                             "",
		"memory cpu\n":                                  `"pids"`,
		"memory-ish cpu pids\n":                         `"memory"`,
		"":                                              `"memory"`,
	} {
		m := &Manager{v2: t.TempDir()}
		if err := os.WriteFile(m.v2+"/cgroup.controllers", []byte(controllers), 0o600); err != nil {
			t.Fatal(err)
		}
		err := m.check()
		if missing == "" && err != nil || missing != "" && (yurt.CodeOf(err) != yurt.CodeLimitNotEnforceable || !strings.Contains(err.Error(), missing)) {
			t.Errorf("with %q: %v", controllers, err)
		}
	}
	if err := (&Manager{v2: t.TempDir()}).check(); err == nil {
		t.Error("a directory that is no cgroup passes")
	}
}

// TestControllersThatShareAHierarchy have one directory between them, wherever else the
// hierarchy is mounted.
func TestControllersThatShareAHierarchy(t *testing.T) {
	mountinfo := func(groups ...string) (text string) {
		for i, g := range groups {
			text += fmt.Sprintf("%d 1 0:%d / /sys/fs/cgroup/%d rw - cgroup cgroup rw,%s\n", i+10, i+10, i, g)
		}
		return text
	}
	tests := []struct {
		mounts         string
		leaves, shared int
	}{
		{mountinfo("cpu", "cpuacct", "memory", "freezer", "pids", "devices"), 3, 3},
		{mountinfo("cpu,cpuacct", "memory", "freezer", "pids", "devices"), 3, 2},
		{mountinfo("cpu,cpuacct", "memory", "freezer", "pids", "devices", "cpu,cpuacct"), 3, 2},
	}
	for _, tt := range tests {
		m := &Manager{parent: "p", v1: make(map[string]string)}
		if err := m.findMounts(strings.NewReader(tt.mounts)); err != nil {
			t.Fatal(err)
		}
		g := m.groupV1("g")
		if len(g.leafDirs) != tt.leaves || len(g.sharedDirs) != tt.shared {
			t.Errorf("%s gave %q and %q", tt.mounts, g.leafDirs, g.sharedDirs)
		}
		if g.dir["cpu"] == "" || g.dir["cpuacct"] == "" {
			t.Errorf("a controller has no directory: %v", g.dir)
		}
	}
}

func TestFindMountsProperty(t *testing.T) {
	hybrid := string(readMounts(t, "hybrid"))
	want := &Manager{v1: make(map[string]string)}
	if err := want.findMounts(strings.NewReader(hybrid)); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(hybrid, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	rapid.Check(t, func(t *rapid.T) {
		// The order of the mounts does not matter.
		shuffled := strings.Join(rapid.Permutation(slices.Clone(lines)).Draw(t, "lines"), "")
		m := &Manager{v1: make(map[string]string)}
		if err := m.findMounts(strings.NewReader(shuffled)); err != nil || m.v2 != want.v2 || !maps.Equal(m.v1, want.v1) {
			t.Fatalf("v2 %q, v1 %v, %v", m.v2, m.v1, err)
		}
	})
}

func FuzzFindMounts(f *testing.F) {
	for _, name := range []string{"hybrid", "v1-systemd", "v2", "v2-and-a-part-of-v1", "none"} {
		f.Add(readMounts(f, name))
	}
	f.Add([]byte("1 2 3 / - - cgroup2 x"))
	f.Add([]byte(" - \n - cgroup cgroup memory"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := &Manager{v1: make(map[string]string)}
		if err := m.findMounts(bytes.NewReader(text)); err != nil {
			return // a line beyond bufio's bound
		}
		for controller, dir := range m.v1 {
			if dir == "" || !bytes.Contains(text, []byte(dir)) || !bytes.Contains(text, []byte(controller)) {
				t.Fatalf("%s is at %q", controller, dir)
			}
		}
		if m.v2 != "" && m.v1["memory"] != "" {
			t.Fatal("both versions are in use")
		}
	})
}

func TestReadField(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/f", []byte("low 1\noom 2\noom_kill 3\nbad x\nalone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int64{"low": 1, "oom": 2, "oom_kill": 3} {
		if got, err := readField(dir, "f", key); got != want || err != nil {
			t.Errorf("%s is %d, %v", key, got, err)
		}
	}
	for _, key := range []string{"kill", "bad", "alone", "none", ""} {
		if got, err := readField(dir, "f", key); err == nil {
			t.Errorf("%q is %d", key, got)
		}
	}
	if _, err := readInt(dir, "f"); err == nil {
		t.Error("a table was read as a number")
	}
}

// TestCheckName: a group of another name would be another directory than one below the parent, whose processes it would end.
func TestCheckName(t *testing.T) {
	for _, name := range []string{"", ".", "..", "/", "/a", "a/", "a/b", "../a", "a/../b", "a\x00"} {
		if err := CheckName(name); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("the name %q: %v, want %s", name, err, yurt.CodeInvalidArgument)
		}
	}
	for _, name := range []string{yurt.NewSandboxID(), "stray", "..."} {
		if err := CheckName(name); err != nil {
			t.Errorf("the name %q: %v", name, err)
		}
	}
}
