package node_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/doctor"
	"github.com/yurtrun/yurt/test/testutil"
)

const quotaSize = 4 << 20

func byQuota(s *yurt.SandboxSpec) {
	s.Resources.DiskKind = yurt.DiskQuota
	s.Resources.Memory, s.Resources.Disk = 64<<20, quotaSize
}

// onQuotas runs the test with the configuration of an executor whose state is where there are
// project quotas, and where that is.
func onQuotas(t *testing.T, test func(t *testing.T, config executor.Config, dir string)) {
	t.Helper()
	testutil.OnQuotas(t, func(t *testing.T, dir string) {
		config := testutil.Config(t, testutil.Build(t))
		config.StateDir = filepath.Join(dir, "state")
		test(t, config, dir)
	})
}

// isFull reports whether a program complains of a quota, as ext4 and XFS let it.
func isFull(complaint string) bool {
	return strings.Contains(complaint, "quota exceeded") || strings.Contains(complaint, "No space left on device")
}

// projects returns the ids of those that have a file or a limit on the file system.
func projects(t *testing.T, dir string) (ids []uint32) {
	t.Helper()
	const nextQuota = 0x800009<<8 | 2 // of the kind of projects
	file, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for id := uint32(1); ; id++ { // 0 is the project of files without one
		var next struct { // if_nextdqblk
			limitsAndUsage [8]uint64
			valid, id      uint32
		}
		_, _, errno := unix.Syscall6(unix.SYS_QUOTACTL_FD, file.Fd(), nextQuota, uintptr(id), uintptr(unsafe.Pointer(&next)), 0, 0)
		if errors.Is(errno, unix.ENOENT) {
			return ids
		}
		if errno != 0 {
			t.Fatalf("listing projects: %v", errno)
		}
		id = next.id
		for _, n := range next.limitsAndUsage {
			if n != 0 {
				ids = append(ids, id)
				break
			}
		}
	}
}

func TestDiskQuota(t *testing.T) {
	without := testutil.Executor(t) // in memory, or on a file system without quotas
	spec := testutil.Spec()
	byQuota(&spec)
	if _, err := without.CreateSandbox(t.Context(), spec); yurt.CodeOf(err) != yurt.CodeLimitNotEnforceable {
		t.Errorf("where there are no quotas: %v", err)
	}
	onQuotas(t, testDiskQuota)
}

func testDiskQuota(t *testing.T, config executor.Config, dir string) {
	testDoctorOfQuotas(t, dir)
	config.Transient = true
	e := testutil.Start(t, config)
	s, other := testutil.Create(t, e, byQuota), testutil.Create(t, e, byQuota)
	r := testutil.Run(t, e, s.ID, "ls -A; stat -c %U:%a .; df -k --output=size . | tail -n 1; grep ' /workspace ' /proc/mounts | grep -c 'nosuid,nodev'")
	if got := strings.Fields(r.Stdout); strings.Join(got, " ") != "user:755 4096 1" {
		t.Errorf("a new one is %q, %s, %+v", got, r.Stderr, r.Error)
	}
	for what, line := range map[string]string{
		"bytes":         "rm -rf ./*; head -c 5M /dev/zero > a",
		"reserved ones": "rm -rf ./*; fallocate -l 5M b",
		"deleted ones":  "rm -rf ./*; exec 3> c; rm c; head -c 5M /dev/zero >&3",
		"inodes":        "rm -rf ./*; mkdir d; cd d; seq 1500 | xargs touch",
	} {
		if r := testutil.Run(t, e, s.ID, line); !isFull(r.Stderr) {
			t.Errorf("too many %s: %q, %q, %+v", what, r.Stdout, r.Stderr, r.Error)
		}
	}
	if r := testutil.Run(t, e, s.ID, "rm -rf ./*; head -c 3M /dev/zero > a && wc -c < a"); r.Stdout != "3145728\n" {
		t.Errorf("less than it holds: %q, %q", r.Stdout, r.Stderr)
	}
	if r := testutil.Run(t, e, other.ID, "head -c 3M /dev/zero > a && wc -c < a"); r.Stdout != "3145728\n" {
		t.Errorf("the other one: %q, %q", r.Stdout, r.Stderr)
	}
	testQuotaOfFiles(t, e, s.ID)
}

// testDoctorOfQuotas: the doctor names where there are quotas.
func testDoctorOfQuotas(t *testing.T, dir string) {
	t.Helper()
	for _, f := range doctor.Examine(t.Context()) {
		if f.Mechanism == "project quota" && (f.State != doctor.InForce || !strings.Contains(f.Detail, dir)) {
			t.Errorf("the doctor finds %+v", f)
		}
	}
}

// testQuotaOfFiles: files that the executor writes, as root, have to fit too.
func testQuotaOfFiles(t *testing.T, e *executor.Executor, id string) {
	t.Helper()
	content := func() io.Reader { return bytes.NewReader(make([]byte, 2<<20)) }
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "x", Mode: 0o600, Size: 2 << 20})
	_, copied := io.Copy(w, content())
	if err := errors.Join(err, copied, w.Close()); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func() error{
		"a file": func() error { _, err := e.WriteFile(t.Context(), id, "b", content(), yurt.WriteOptions{}); return err },
		"more of one": func() error {
			_, err := e.WriteFile(t.Context(), id, "a", content(), yurt.WriteOptions{Append: true})
			return err
		},
		"an archive": func() error { _, err := e.UnpackFiles(t.Context(), id, ".", &archive); return err },
	} {
		if err := put(); yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
			t.Errorf("%s that does not fit: %v", what, err)
		}
	}
	testutil.Run(t, e, id, "rm -rf ./*; mkdir d; cd d; seq 1500 | xargs touch")
	if _, err := e.WriteFile(t.Context(), id, "one-more", strings.NewReader(""), yurt.WriteOptions{}); yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
		t.Errorf("one file too many: %v", err)
	}
}

func TestDiskQuotaHoldsForTheNextExecutor(t *testing.T) { onQuotas(t, testDiskQuotaHolds) }

func testDiskQuotaHolds(t *testing.T, config executor.Config, dir string) {
	first := testutil.Open(t, config)
	s, dies := testutil.Create(t, first, byQuota), testutil.Create(t, first, byQuota)
	if r := testutil.Run(t, first, s.ID, "head -c 3M /dev/zero > f"); r.Error != nil {
		t.Fatal(r.Error)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	testutil.Kill(t, dies.PID)
	e := testutil.Start(t, config)
	if r := testutil.Run(t, e, s.ID, "wc -c < f; head -c 3M /dev/zero > g"); r.Stdout != "3145728\n" || !isFull(r.Stderr) {
		t.Errorf("after a restart: %q, %q, %+v", r.Stdout, r.Stderr, r.Error)
	}
	if _, err := e.WriteFile(t.Context(), s.ID, "h", bytes.NewReader(make([]byte, 3<<20)), yurt.WriteOptions{}); yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
		t.Errorf("a file that does not fit: %v", err)
	}
	testutil.Eventually(t, "nothing is left of the one that died meanwhile", func() bool { return len(projects(t, dir)) == 1 })
}

// TestDiskQuotaIsGivenBack: removing a sandbox leaves no file and no project, however the sandbox changed its workspace.
func TestDiskQuotaIsGivenBack(t *testing.T) { onQuotas(t, testDiskQuotaIsGivenBack) }

func testDiskQuotaIsGivenBack(t *testing.T, config executor.Config, dir string) {
	config.Transient = true
	e := testutil.Start(t, config)
	before := inodes(t, dir)
	s := testutil.Create(t, e, byQuota)
	if r := testutil.Run(t, e, s.ID, `/usr/bin/python3 -c "
import os
for i in range(900): os.mkdir('d'); os.chdir('d')
os.chdir('/workspace'); os.mkdir('hidden'); open('hidden/f', 'w').close(); os.chmod('hidden', 0)
os.symlink('/', 'root'); os.mkfifo('p')"`); r.Error != nil || r.ExitCode != 0 {
		t.Fatalf("%q, %+v", r.Stderr, r.Error)
	}
	if ids := projects(t, dir); len(ids) != 1 {
		t.Errorf("a sandbox has projects %v", ids)
	}
	if err := e.DestroyAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	// XFS takes its time.
	testutil.Eventually(t, "neither inodes nor projects are left", func() bool { return inodes(t, dir) <= before && len(projects(t, dir)) == 0 })
}

// inodes returns how many are in use on the file system.
func inodes(t *testing.T, dir string) uint64 {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	return fs.Files - fs.Ffree
}

// TestDiskQuotaOfAbandonedState: removing the state of an abandoned executor gives the projects back too.
func TestDiskQuotaOfAbandonedState(t *testing.T) { onQuotas(t, testDiskQuotaOfAbandonedState) }

func testDiskQuotaOfAbandonedState(t *testing.T, config executor.Config, dir string) {
	e := testutil.Open(t, config)
	for range 2 {
		s := testutil.Create(t, e, byQuota)
		if r := testutil.Run(t, e, s.ID, "mkdir -p a/b && head -c 1M /dev/zero > a/b/c"); r.Error != nil || r.ExitCode != 0 {
			t.Fatalf("%q, %+v", r.Stderr, r.Error)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if ids := projects(t, dir); len(ids) != 2 {
		t.Fatalf("two sandboxes have projects %v", ids)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(config.StateDir, "lock"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := executor.RemoveAbandoned(config.StateDir); err != nil {
		t.Fatal(err)
	}
	testutil.CheckNothingLeft(t, config.StateDir)
	if _, err := os.Stat(config.StateDir); err == nil {
		t.Error("the directory is left")
	}
	testutil.Eventually(t, "no projects are left", func() bool { return len(projects(t, dir)) == 0 })
}
