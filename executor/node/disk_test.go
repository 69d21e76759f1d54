package node_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func onImage(s *yurt.SandboxSpec) {
	s.Template.Resources.DiskKind = yurt.DiskImage
	s.Resources.Memory, s.Resources.Disk = 64<<20, 192<<20
}

// loopsOn counts the loop devices whose files are below dir, deleted ones too.
func loopsOn(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range files {
		if name, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(name), dir) {
			count++
		}
	}
	return count
}

func TestDiskImage(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	e := testutil.Start(t, config)
	s := testutil.Create(t, e, onImage)
	r := testutil.Run(t, e, s.ID, "ls -A; stat -c %U:%a .; head -c 100000000 /dev/zero > a && sync a && head -c 60000000 /dev/zero > b && wc -c < a && wc -c < b; grep ' /workspace ' /proc/mounts | grep -c 'ext4 rw,nosuid,nodev'")
	if r.Stdout != "user:755\n100000000\n60000000\n1\n" || r.Error != nil {
		t.Errorf("more than memory holds: %q, %q, %+v", r.Stdout, r.Stderr, r.Error)
	}
	if r := testutil.Run(t, e, s.ID, "head -c 100000000 /dev/zero > c"); !strings.Contains(r.Stderr, "No space left") {
		t.Errorf("more than the disk holds: %q, %+v", r.Stderr, r.Error)
	}
	if r := testutil.Run(t, e, s.ID, "rm a b c; echo '#!/bin/sh\necho runs' > x; chmod 755 x; ./x; ln x y; mkfifo p; ls"); r.Stdout != "runs\np\nx\ny\n" {
		t.Errorf("files: %q, %q", r.Stdout, r.Stderr)
	}
	if _, err := e.WriteFile(t.Context(), s.ID, "in", strings.NewReader("text"), yurt.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if r := testutil.Run(t, e, s.ID, "cat in; echo more >> in"); r.Stdout != "text" {
		t.Errorf("a file of the API: %q, %q", r.Stdout, r.Stderr)
	}
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "the device is gone", func() bool { return loopsOn(t, config.StateDir) == 0 })
}

func TestDiskImageIsThereForTheNextExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	s := testutil.Create(t, first, onImage)
	if r := testutil.Run(t, first, s.ID, "echo kept > f"); r.Error != nil {
		t.Fatal(r.Error)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	e := testutil.Start(t, config)
	file, _, err := e.ReadFile(t.Context(), s.ID, "f", yurt.Span{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if text, err := io.ReadAll(file); err != nil || string(text) != "kept\n" {
		t.Errorf("read %q, %v", text, err)
	}
	if r := testutil.Run(t, e, s.ID, "cat f"); r.Stdout != "kept\n" {
		t.Errorf("it reads %q", r.Stdout)
	}
}

func TestDisksThatTheNodeHasNotAreRefused(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	for name, disk := range map[string]yurt.Size{"more than there is": 1 << 42, "less than a file system": 4 << 20} {
		spec := testutil.Spec()
		onImage(&spec)
		spec.Resources.Disk = disk
		if _, err := e.CreateSandbox(t.Context(), spec); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

// TestReserveKeepsWhatCannotBeResized: a request with another size does not get a ready sandbox.
func TestReserveKeepsWhatCannotBeResized(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	template := testutil.Template()
	template.Isolation.PerExecution = true
	if _, err := e.ReserveSandbox(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	spec := testutil.Spec()
	spec.Template = template
	spec.Resources.Disk *= 2
	if _, found, err := e.ClaimSandbox(t.Context(), spec); found || err != nil {
		t.Errorf("another size: found %t, %v", found, err)
	}
	spec.Resources = yurt.DefaultResources()
	if _, found, err := e.ClaimSandbox(t.Context(), spec); !found || err != nil {
		t.Errorf("the same size: found %t, %v", found, err)
	}
}

// TestReserveKeepsWhatIsForGood: ulimits and an image are there from the start or never.
func TestReserveKeepsWhatIsForGood(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	warm := reserveOne(t, e)
	for name, change := range map[string]func(*yurt.Resources){
		"ulimits": func(r *yurt.Resources) { r.Ulimits.NoFile = 99 },
		"image":   func(r *yurt.Resources) { r.DiskKind = yurt.DiskImage },
	} {
		spec := testutil.Spec()
		change(&spec.Resources)
		if s, found, err := e.ClaimSandbox(t.Context(), spec); found || err != nil {
			t.Errorf("%s: found %t (%+v), %v", name, found, s, err)
		}
	}
	if s, found, err := e.ClaimSandbox(t.Context(), testutil.Spec()); !found || err != nil || s.ID != warm.ID {
		t.Errorf("what can be had: found %t, %v", found, err)
	}
}

// TestSessionsHaveADiskOfTheirOwn: the template's kind of disk is the default of its sessions.
func TestSessionsHaveADiskOfTheirOwn(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	look := func(change func(*yurt.SandboxSpec)) string {
		s := testutil.Create(t, e, change)
		return strings.TrimSpace(testutil.Run(t, e, s.ID, "stat -f -c %T /workspace").Stdout)
	}
	image := look(func(s *yurt.SandboxSpec) { s.Resources.DiskKind = yurt.DiskImage; s.Resources.Disk = 32 << 20 })
	memory := look(func(s *yurt.SandboxSpec) {
		s.Template.Resources.DiskKind, s.Resources.DiskKind = yurt.DiskImage, yurt.DiskMemory
	})
	if image != "ext2/ext3" || memory != "tmpfs" {
		t.Errorf("an image is %q, and memory %q", image, memory)
	}
}

func TestIOWeight(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	spec := testutil.Spec()
	spec.Template.Resources.IOWeight = 321
	s, err := e.CreateSandbox(t.Context(), spec)
	if yurt.CodeOf(err) == yurt.CodeLimitNotEnforceable {
		t.Logf("this host has none: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := testutil.Run(t, e, s.ID, "echo works"); r.Stdout != "works\n" {
		t.Errorf("%+v", r)
	}
	var found []string
	for _, pattern := range []string{"blkio/*/" + s.ID + "/blkio*weight", "*/" + s.ID + "/io*weight"} {
		files, err := filepath.Glob("/sys/fs/cgroup/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil || strings.TrimPrefix(strings.TrimSpace(string(text)), "default ") != "321" {
				t.Errorf("%s says %q, %v", path, text, err)
			}
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		t.Error("no weight was set")
	}
}
