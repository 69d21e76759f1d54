package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// quotasEnv is set on a machine whose kernel has project quotas, as that of the virtual
// machine has (see test/vm): a test that finds none there has found a fault.
const quotasEnv = "YURT_TEST_QUOTAS"

// QuotaDir mounts a file system of 256 MiB that enforces project quotas, and returns where.
// It reports false on a machine whose kernel was built without them.
func QuotaDir(t testing.TB) (dir string, has bool) {
	t.Helper()
	NeedsSandboxes(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "quotas")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 256<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-O", "quota,project", file).CombinedOutput(); err != nil { //nolint:noctx // it takes no time
		t.Fatalf("making a file system, for which this machine needs e2fsprogs: %v: %s", err, out)
	}
	out, err := exec.Command("mount", "-o", "loop,prjquota", file, dir).CombinedOutput() //nolint:noctx // likewise
	if err != nil && os.Getenv(quotasEnv) == "" {
		t.Logf("this machine has no project quotas; test/vm has a virtual one that does: %s", out)
		return "", false
	}
	if err != nil {
		t.Fatalf("mounting a file system with project quotas: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil { //nolint:noctx // also the end of a test waits for it
			t.Errorf("unmounting %s: %v: %s", dir, err, out)
		}
	})
	return dir, true
}
