package oci

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden file of testdata")
	os.Exit(m.Run())
}

func options() Options {
	return Options{
		IDBase: 1879048192,
		Layout: layout.Layout{
			Dirs:  []string{"/etc", "/usr", "/proc", "/dev", "/tmp", "/run", "/run/yurt", "/workspace"},
			Binds: []string{"/usr", "/etc/ld.so.cache"},
		},
		Disk: 256 << 20, Memory: 512 << 20, InitArgs: []string{"-listen-fd=3", "-filter-fd=4"}, MaxFiles: 4096,
	}
}

// TestSpecGolden shows every change of a sandbox's specification to its reviewer. After an intended change: go test
// ./executor/oci -update.
func TestSpecGolden(t *testing.T) {
	got, err := json.MarshalIndent(Spec(options()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const file = "testdata/spec.golden.json"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Error(d)
	}
}

func TestNamespaces(t *testing.T) {
	var got []specs.LinuxNamespaceType
	for _, n := range Spec(options()).Linux.Namespaces {
		if n.Path != "" {
			t.Errorf("the %s namespace is that of %s", n.Type, n.Path)
		}
		got = append(got, n.Type)
	}
	want := []specs.LinuxNamespaceType{
		specs.CgroupNamespace, specs.IPCNamespace, specs.MountNamespace, specs.NetworkNamespace,
		specs.PIDNamespace, specs.UserNamespace, specs.UTSNamespace,
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("it has namespaces %q, want %q", got, want)
	}
}

func TestInitHasNoMoreThanItNeeds(t *testing.T) {
	spec := Spec(options())
	p := spec.Process
	if !p.NoNewPrivileges || p.Terminal || p.Args[0] != layout.InitPath || p.Cwd != "/" {
		t.Errorf("it runs %q in %s, no-new-privileges %t, terminal %t", p.Args, p.Cwd, p.NoNewPrivileges, p.Terminal)
	}
	c := p.Capabilities
	want := []string{"CAP_KILL", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_PTRACE"}
	for name, set := range map[string][]string{"bounding": c.Bounding, "effective": c.Effective, "permitted": c.Permitted} {
		if got := slices.Sorted(slices.Values(set)); !slices.Equal(got, want) {
			t.Errorf("its %s set is %q, want %q", name, got, want)
		}
	}
	if len(c.Ambient)+len(c.Inheritable) != 0 {
		t.Errorf("what it starts could inherit %q, %q", c.Ambient, c.Inheritable)
	}
	for _, limit := range p.Rlimits {
		if limit.Type == "RLIMIT_CORE" && (limit.Hard != 1 || limit.Soft != 1) {
			t.Errorf("at another limit than 1 the host may start a program to take core dumps: %+v", limit)
		}
		if limit.Soft > limit.Hard {
			t.Errorf("%+v", limit)
		}
	}
	if !spec.Root.Readonly || spec.Hooks != nil || len(spec.Linux.Devices) != 0 {
		t.Error("the root can be written, or something runs or is set on the host")
	}
	for name := range spec.Linux.Sysctl {
		if !strings.HasPrefix(name, "user.") { // of its user namespace
			t.Errorf("it sets %s", name)
		}
	}
	// Every mapping is one range that is not the host's root.
	for _, m := range append(spec.Linux.UIDMappings, spec.Linux.GIDMappings...) {
		if m.ContainerID != 0 || m.HostID != options().IDBase || m.Size != idrange.Size {
			t.Errorf("ids are mapped %+v", m)
		}
	}
}

// TestMounts checks binds and mounts against docs/SECURITY.md.
func TestMounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options()
		o.Layout.Binds = rapid.SliceOfDistinct(rapid.StringMatching(`(/[a-z.]{1,8}){1,3}`), rapid.ID[string]).Draw(t, "binds")
		o.Disk = yurt.Size(rapid.Int64Range(yurt.MinDisk, yurt.MaxDisk).Draw(t, "disk"))
		o.Memory = yurt.Size(rapid.Int64Range(yurt.MinMemory, yurt.MaxMemory).Draw(t, "memory"))
		for _, m := range Spec(o).Mounts {
			has := func(option string) bool { return slices.Contains(m.Options, option) }
			switch {
			case !path.IsAbs(m.Destination) || !has("nosuid"):
				t.Fatalf("%+v honours setuid", m)
			case !has("nodev") && m.Destination != "/dev/pts":
				t.Fatalf("%+v honours devices", m)
			case m.Type == "tmpfs":
				checkSized(t, o, m)
			case m.Type == "proc":
				if !has("hidepid=2") || !has("noexec") {
					t.Fatalf("%+v shows processes of other users", m)
				}
			case m.Type != "devpts":
				t.Fatalf("a mount of type %s", m.Type)
			}
		}
	})
}

// checkSized makes sure that a file system in memory has an end.
func checkSized(t *rapid.T, o Options, m specs.Mount) {
	var size, inodes int64
	for _, option := range m.Options {
		fmt.Sscanf(option, "size=%d", &size)
		if _, after, ok := strings.Cut(option, "nr_inodes="); ok {
			fmt.Sscanf(after, "%d", &inodes)
		}
	}
	if size <= 0 || inodes <= 0 || size > max(int64(o.Disk), int64(o.Memory), int64(runDirSize)) {
		t.Fatalf("%+v has %d bytes and %d inodes", m, size, inodes)
	}
	if m.Destination == yurt.WorkspaceDir && size != int64(o.Disk) {
		t.Fatalf("the workspace has %d bytes, %d were asked for", size, o.Disk)
	}
}

func TestPathsOfProcThatTellOrAct(t *testing.T) {
	linux := Spec(options()).Linux
	for _, p := range []string{"/proc/kcore", "/proc/keys", "/proc/kallsyms", "/proc/kmsg", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/modules", "/proc/acpi", "/proc/scsi", "/proc/interrupts", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/pressure", "/proc/cgroups", "/proc/diskstats", "/proc/softirqs", "/proc/sys/fs/file-nr", "/proc/sys/kernel/pty/nr"} {
		if !slices.Contains(linux.MaskedPaths, p) {
			t.Errorf("%s is not masked", p)
		}
	}
	if !slices.Contains(linux.ReadonlyPaths, "/proc/sys") {
		t.Error("/proc/sys can be written")
	}
}

func TestOptionsOfTheSpec(t *testing.T) {
	o := options()
	o.AppArmor, o.SELinux, o.Workspace, o.Layered = "profile", lsm.Labels{Process: "label", Files: "files"}, "/state/workspace.img", true
	o.Uptime = &Uptime{Monotonic: 5, Boottime: 7}
	spec := Spec(o)
	if spec.Process.ApparmorProfile != "profile" || spec.Process.SelinuxLabel != "label" || spec.Linux.MountLabel != "files" {
		t.Errorf("labels are %q, %q and %q", spec.Process.ApparmorProfile, spec.Process.SelinuxLabel, spec.Linux.MountLabel)
	}
	if !slices.Contains(spec.Process.Capabilities.Effective, "CAP_SYS_ADMIN") {
		t.Error("init cannot mount for a layer")
	}
	if got := spec.Linux.TimeOffsets; got["monotonic"].Secs != -5 || got["boottime"].Secs != -7 {
		t.Errorf("clocks are moved by %v", got)
	}
	workspace := spec.Mounts[len(spec.Mounts)-1]
	if workspace.Type != "bind" || workspace.Source != o.Workspace || !slices.Contains(workspace.Options, "nosuid") || !slices.Contains(workspace.Options, "nodev") {
		t.Errorf("the workspace is %+v", workspace)
	}
}
