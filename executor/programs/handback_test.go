package programs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt/executor/programs"
)

// startUnpacker starts a shell script as the unpacker in the tree of an image of a store that is a user's.
func startUnpacker(t *testing.T, owner int, script string) (local *programs.Local, started programs.Program, tree string) {
	t.Helper()
	config := programs.Config{ImagesDir: t.TempDir(), Unpacker: filepath.Join(t.TempDir(), "unpacker")}
	tree = filepath.Join(config.ImagesDir, "new-ABC234", "tree")
	if err := errors.Join(
		os.WriteFile(config.Unpacker, []byte("#!/bin/sh\nset -e\ncd /tmp\n"+script), 0o600), os.Chmod(config.Unpacker, 0o755),
		os.MkdirAll(tree, 0o755), os.Chown(tree, owner, owner),
	); err != nil {
		t.Fatal(err)
	}
	local = programs.New(config)
	t.Cleanup(local.Close)
	started, err := local.StartUnpacker(programs.Unpacking{Image: "new-ABC234", FileBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, file := range started.Files {
			file.Close()
		}
	})
	return local, started, tree
}

// unpackAs has the script run to its end.
func unpackAs(t *testing.T, owner int, script string) (remark, tree string) {
	t.Helper()
	local, started, tree := startUnpacker(t, owner, script)
	end, err := local.AwaitProgram(t.Context(), started.ID)
	if err != nil || end.Code != 0 && end.Code != 9 {
		t.Fatalf("it ended as %+v, %v", end, err)
	}
	return end.Remark, tree
}

// checkOwner has all in the tree belong to the user, who can enter and empty each directory.
func checkOwner(t *testing.T, tree string, owner int) (entries int) {
	t.Helper()
	err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		entries++
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != owner || int(stat.Gid) != owner {
			t.Errorf("%s belongs to %d:%d, want %d", path, stat.Uid, stat.Gid, owner)
		}
		if mode := info.Mode(); mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 || entry.IsDir() && mode&0o700 != 0o700 {
			t.Errorf("%s has the mode %s", path, mode)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return entries
}

// TestFilesOfAnUnpackerAreTheStores: when it has ended, in any way. A link stays a link, and its target another's.
func TestFilesOfAnUnpackerAreTheStores(t *testing.T) {
	const owner = 12345
	for name, end := range map[string]string{"success": "", "failure": "exit 9"} {
		remark, tree := unpackAs(t, owner, "mkdir -p a/b; echo 1 > a/b/c; ln a/b/c d; ln -s /etc/passwd e; chmod 0 a/b/c a/b; chmod 0555 a\n"+end)
		if entries := checkOwner(t, tree, owner); remark != "" || entries != 6 {
			t.Errorf("%s: %d entries with the remark %q, want 6", name, entries, remark)
		}
	}
	if info, err := os.Stat("/etc/passwd"); err != nil {
		t.Error(err)
	} else if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 0 {
		t.Errorf("the target of a link belongs to %d", stat.Uid)
	}
}

// TestFilesOfAKilledUnpacker are the store's, too.
func TestFilesOfAKilledUnpacker(t *testing.T) {
	const owner = 12345
	local, started, tree := startUnpacker(t, owner, "mkdir -m 0 a; echo 1 > b; echo ready; exec sleep 600\n")
	if _, err := started.Files[1].Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(started.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	end, err := local.AwaitProgram(t.Context(), started.ID)
	if err != nil || end.Signal != int(syscall.SIGKILL) || end.Remark != "" {
		t.Errorf("it ended as %+v, %v", end, err)
	}
	if entries := checkOwner(t, tree, owner); entries != 3 {
		t.Errorf("%d entries, want 3", entries)
	}
}

// TestOddFilesOfAnUnpacker are told, and are the store's too, which removes them.
func TestOddFilesOfAnUnpacker(t *testing.T) {
	const owner = 12345
	for name, tt := range map[string]struct{ script, want string }{
		"fifo":   {"mkfifo x", "mode 010644"},
		"setuid": {"echo > x; chmod 4755 x", "mode 0104755"},
		"setgid": {"mkdir x; chmod 2755 x", "mode 042755"},
		"deep":   {"for i in $(seq 600); do mkdir d; cd d; done; echo > x", "more than 256 deep"},
	} {
		remark, tree := unpackAs(t, owner, tt.script+"\n")
		if !strings.Contains(remark, tt.want) {
			t.Errorf("%s: the end has the remark %q, want %q", name, remark, tt.want)
		}
		checkOwner(t, tree, owner)
	}
}
