package broker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// initRoot is the variable that has this test program be the init of a sandbox: a process whose root is the directory.
const initRoot = "YURT_TEST_INIT_ROOT"

func TestMain(m *testing.M) {
	root := os.Getenv(initRoot)
	if root == "" {
		os.Exit(m.Run())
	}
	if err := unix.Chroot(root); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

// startInit starts a process whose root is the directory.
func startInit(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	init := exec.Command(os.Args[0])
	init.Env = []string{initRoot + "=" + root}
	stdin, err := init.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := init.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := init.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = init.Wait() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("a process with the root %s says %q, %v", root, line, err)
	}
	return init
}

// rootedSandbox makes the cgroup of a sandbox whose init has the directory as its root.
func rootedSandbox(t *testing.T, b subject, groups *cgroup.Manager, root string) (id string, init *exec.Cmd) {
	t.Helper()
	id = yurt.NewSandboxID()
	group, err := groups.Create(id, modest())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.End(context.WithoutCancel(t.Context()), id); err != nil {
			t.Error(err)
		}
	})
	init = startInit(t, root)
	births, err := group.BirthFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range births { // version 1, where tasks takes one thread
		t.Cleanup(func() { file.Close() })
		procs := filepath.Join(filepath.Dir(file.Name()), "cgroup.procs")
		if err := os.WriteFile(procs, fmt.Append(nil, init.Process.Pid), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := group.Settle(init.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return id, init
}

// TestOpenFollowsNoLink: an image or a sandbox can put a link in the place of its workspace.
func TestOpenFollowsNoLink(t *testing.T) { onBoth(t, testOpenFollowsNoLink) }

func testOpenFollowsNoLink(t *testing.T, b subject, groups *cgroup.Manager) {
	root := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(root, "tmp"), 0o755), os.Symlink("/tmp", filepath.Join(root, "workspace")), os.Symlink("/tmp", filepath.Join(root, "run"))); err != nil {
		t.Fatal(err)
	}
	id, _ := rootedSandbox(t, b, groups, root)
	for _, place := range []broker.Place{broker.Workspace, broker.Runs} {
		files, err := b.Open(id, broker.Temp, place)
		if !errors.Is(err, unix.ELOOP) {
			t.Errorf("opening %s, which is a link: %v, want %v", place, err, unix.ELOOP)
		}
		descriptor.CloseAll(files)
	}
	files, err := b.Open(id, broker.Temp)
	if err != nil {
		t.Fatalf("opening a plain directory: %v", err)
	}
	descriptor.CloseAll(files)
}

// TestInitIsFoundByTheCgroup: a broker that has not started a sandbox finds its init, until that has ended.
func TestInitIsFoundByTheCgroup(t *testing.T) { onBoth(t, testInitIsFoundByTheCgroup) }

func testInitIsFoundByTheCgroup(t *testing.T, b subject, groups *cgroup.Manager) {
	root := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(root, "tmp"), 0o755), os.WriteFile(filepath.Join(root, "its-own"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	id, init := rootedSandbox(t, b, groups, root)
	dirs, err := b.Open(id, broker.Temp, broker.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer descriptor.CloseAll(dirs)
	var stat unix.Stat_t
	if err := unix.Fstatat(int(dirs[1].Fd()), "its-own", &stat, 0); err != nil {
		t.Errorf("the root that it opens is not that of the sandbox: %v", err)
	}
	_ = init.Process.Kill()
	_ = init.Wait()
	for name, by := range map[string]broker.Broker{"the same": b, "a later": broker.NewLocal(b.local.Config)} {
		if dirs, err := by.Open(id, broker.Root); err == nil {
			t.Errorf("%s broker opens the root of a sandbox whose init has ended", name)
			descriptor.CloseAll(dirs)
		}
	}
}

// TestNamespaceOfAnotherProcess: the number of an init that has ended may be another process's by now, whose namespaces are not
// the sandbox's.
func TestNamespaceOfAnotherProcess(t *testing.T) { onBoth(t, testNamespaceOfAnotherProcess) }

func testNamespaceOfAnotherProcess(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, _ := busySandbox(t, b, groups)
	own, err := procid.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	gone := own
	gone.Start--
	if err := b.local.SetInit(id, gone); err != nil {
		t.Fatal(err)
	}
	if listener, err := b.Listen(id); err == nil {
		t.Errorf("it listens at %s", listener.Addr())
		listener.Close()
	}
	if roots, err := b.Open(id, broker.Root); err == nil {
		t.Error("it opens the root")
		descriptor.CloseAll(roots)
	}
	if err := b.Mount(id, broker.Tree{View: "python"}); err == nil {
		t.Error("it mounts a tree")
	}
	if err := b.local.SetInit(id, own); err != nil {
		t.Fatal(err)
	}
	listener, err := b.Listen(id)
	if err != nil {
		t.Fatalf("listening in the own network: %v", err)
	}
	listener.Close()
}

// TestPlacesAndTreesAreClosedSets: no path of the caller's is opened or mounted.
func TestPlacesAndTreesAreClosedSets(t *testing.T) { onBoth(t, testPlacesAndTreesAreClosedSets) }

func testPlacesAndTreesAreClosedSets(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _ := rootedSandbox(t, b, groups, "/")
	for _, places := range [][]broker.Place{
		nil, {""}, {"/etc"}, {"/tmp/.."}, {"tmp"}, {"/proc/1/root"}, {"/workspace\x00"}, {broker.Temp, "/etc"}, {broker.Temp, broker.Root, broker.Temp},
	} {
		if files, err := b.Open(id, places...); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("opening %q: %v, want %s", places, err, yurt.CodeInvalidArgument)
			descriptor.CloseAll(files)
		}
	}
	digest := strings.Repeat("0a", 32)
	for _, tree := range []broker.Tree{
		{},
		{Layer: digest, View: "python"},
		{Layer: digest + "0a"},
		{Layer: "../" + digest[3:]},
		{Layer: "/etc"},
		{Layer: strings.Repeat("/", 64)},
		{View: "."},
		{View: ".."},
		{View: "../../etc"},
		{View: "python/.."},
		{View: "/"},
		{View: "a\x00"},
		{View: strings.Repeat("a", 65)},
	} {
		if err := b.Mount(id, tree); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("mounting %+v: %v, want %s", tree, err, yurt.CodeInvalidArgument)
		}
		if _, err := b.Shows(id, tree); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("whether %+v is shown: %v, want %s", tree, err, yurt.CodeInvalidArgument)
		}
	}
}

// storeDirs is the directories of sandboxes below one.
type storeDirs string

func (d storeDirs) RecordDir(id string) string { return filepath.Join(string(d), "records", id) }
func (d storeDirs) StoreDir(id string) string  { return filepath.Join(string(d), "stores", id) }
func (d storeDirs) OpenStores() (*os.File, error) {
	return os.Open(filepath.Join(string(d), "stores"))
}
func (d storeDirs) OpenDisks() (*os.File, error) { return os.Open(string(d)) }

// TestRemoveDiskKeepsOthers: a disk is removed when its sandbox has ended, and no directory elsewhere is.
func TestRemoveDiskKeepsOthers(t *testing.T) { onBoth(t, testRemoveDiskKeepsOthers) }

func testRemoveDiskKeepsOthers(t *testing.T, b subject, groups *cgroup.Manager) {
	dirs := storeDirs(t.TempDir())
	b.local.Dirs = dirs
	id, _, _ := busySandbox(t, b, groups)
	file := filepath.Join(dirs.StoreDir(id), "kept")
	if err := errors.Join(os.MkdirAll(dirs.StoreDir(id), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{id, "", ".", "..", "../stores/" + id, "x/../" + id, "/", id + "\x00"} {
		if err := b.RemoveDisk(name); err == nil {
			t.Errorf("removing the disk of %q succeeded while the sandbox is there", name)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	if err := b.End(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveDisk(id); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dirs.StoreDir(id)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the disk is there after its removal: %v", err)
	}
}

// TestStartRefuses: a refused request for a new sandbox makes no cgroup, and changes no sandbox that is there.
func TestStartRefuses(t *testing.T) { onBoth(t, testStartRefuses) }

func testStartRefuses(t *testing.T, b subject, groups *cgroup.Manager) {
	id, run, _ := busySandbox(t, b, groups)
	request := func(change func(*broker.StartRequest)) broker.StartRequest {
		r := broker.StartRequest{ID: yurt.NewSandboxID(), IDBase: idrange.First, Limits: yurt.Resources{CPU: 1, Memory: 64 << 20, Disk: 1 << 20, PIDs: 50}}
		change(&r)
		return r
	}
	for name, change := range map[string]func(*broker.StartRequest){
		"a sandbox that is there":             func(r *broker.StartRequest) { r.ID = id },
		"a path as an id":                     func(r *broker.StartRequest) { r.ID = "../" + r.ID },
		"root's ids":                          func(r *broker.StartRequest) { r.IDBase = 0 },
		"ids within a range":                  func(r *broker.StartRequest) { r.IDBase++ },
		"ids of programs":                     func(r *broker.StartRequest) { r.IDBase = idrange.Programs },
		"no memory":                           func(r *broker.StartRequest) { r.Limits.Memory = 0 },
		"no disk":                             func(r *broker.StartRequest) { r.Limits.Disk = 0 },
		"more disk than any template":         func(r *broker.StartRequest) { r.Limits.Disk = 2 * yurt.MaxDisk },
		"a disk of no kind":                   func(r *broker.StartRequest) { r.Limits.DiskKind = "tape" },
		"the node's memory":                   func(r *broker.StartRequest) { r.Limits.Memory = nodeMemory + 1 },
		"a path that the node does not offer": func(r *broker.StartRequest) { r.Root.HostPaths = []string{"/root"} },
		"a path that is none":                 func(r *broker.StartRequest) { r.Root.HostPaths = []string{"usr"} },
		"a path as an image":                  func(r *broker.StartRequest) { r.Root.Image = "../../root" },
		"a directory as an image":             func(r *broker.StartRequest) { r.Root.Image = "/root" },
		"an image and paths of the host": func(r *broker.StartRequest) {
			r.Root = broker.RootParts{HostPaths: []string{"/usr/bin"}, Image: strings.Repeat("0", 64)}
		},
		"a mount over /proc": func(r *broker.StartRequest) {
			r.Host = &yurt.HostAccess{Mounts: []yurt.Mount{{Source: "/etc", Target: "/proc"}}}
		},
		"a directory as a device": func(r *broker.StartRequest) {
			r.Host = &yurt.HostAccess{Devices: []yurt.Device{{Source: "/dev", Target: "/dev/x", Access: "rw"}}}
		},
	} {
		_, err := b.Start(t.Context(), request(change))
		if code := yurt.CodeOf(err); !slices.Contains([]yurt.Code{yurt.CodeInvalidArgument, yurt.CodeLimitOutOfRange, yurt.CodeForbidden, yurt.CodeTemplateInvalid}, code) {
			t.Errorf("starting one with %s: %v, want a refusal", name, err)
		}
	}
	config := b.local.Config
	config.Tasks = false
	task := request(func(r *broker.StartRequest) { r.Host = &yurt.HostAccess{CPUWeight: 1} })
	if _, err := broker.NewLocal(config).Start(t.Context(), task); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("starting a task where there are none: %v, want %s", err, yurt.CodeForbidden)
	}
	if names, err := groups.Names(); err != nil || !slices.Equal(names, []string{id}) {
		t.Errorf("there are the cgroups %q, %v", names, err)
	}
	if used(t, run) == 0 {
		t.Error("the sandbox that was there is not at work any more")
	}
}
