package testutil

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// quotaSystem is a kind of file system that has project quotas.
type quotaSystem struct {
	size int64 // of the least that its mkfs makes, or more
	mkfs []string
	from string // the Debian package
}

func quotaSystems() map[string]quotaSystem {
	return map[string]quotaSystem{
		"ext4": {256 << 20, []string{"mkfs.ext4", "-q", "-F", "-O", "quota,project"}, "e2fsprogs"},
		"xfs":  {320 << 20, []string{"mkfs.xfs", "-q"}, "xfsprogs"},
	}
}

// OnQuotas runs the test on each kind of file system that has project quotas: dir is the mount
// point of one that enforces them. It skips the kinds that the machine's kernel was built without.
func OnQuotas(t *testing.T, test func(t *testing.T, dir string)) {
	t.Helper()
	for kind, system := range quotaSystems() {
		t.Run(kind, func(t *testing.T) {
			if dir, has := system.mount(t); has {
				test(t, dir)
			}
		})
	}
}

func (s quotaSystem) mount(t *testing.T) (dir string, has bool) {
	t.Helper()
	NeedsSandboxes(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "quotas")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, s.size); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), s.mkfs[0], append(s.mkfs[1:], file)...).CombinedOutput(); err != nil {
		t.Fatalf("making a file system, for which this machine needs %s: %v: %s", s.from, err, out)
	}
	out, err := exec.CommandContext(t.Context(), "mount", "-o", "loop,prjquota", file, dir).CombinedOutput()
	if err != nil {
		Lacks(t, fmt.Sprintf("project quotas of %s: %v: %s", s.mkfs[0], err, out))
		return "", false
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil { //nolint:noctx // also the end of a test waits for it
			t.Errorf("unmounting %s: %v: %s", dir, err, out)
		}
	})
	return dir, true
}
