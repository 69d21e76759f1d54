package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/confine"
)

// TestMain lets the test binary be the unpacker.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == UnpackProgram {
		if err := Unpack(context.Background(), os.Stdin, os.Stdout, confine.Dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// takenOver is an unpacker that runs the body, in Python. There it may call attempt, with a name and a function, and tell with a text, which ends up in
// the error of the pull.
func takenOver(t *testing.T, body string) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unpacker")
	script := "#!/usr/bin/python3\n" + `
import json, os, socket, sys
said = []
def attempt(name, do):
    try:
        do()
        said.append(name + " worked")
    except OSError as e:
        said.append(name + " refused")
def tell(code="archive_invalid"):
    print(json.dumps({"bytes": 1, "entries": 1, "layer": 0, "code": code, "message": "; ".join(said)}))
` + body
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	registry := newLoopback(t)
	reference := registry.push(t, "app", layered(t, v1.Config{}, archive(t, file("a", "1"))))
	return openWith(t, Config{Registries: []string{registry.host}}, path), reference
}

// TestTakenOverUnpackerReachesNobody has it try for the files and sockets beside its directory.
func TestTakenOverUnpackerReachesNobody(t *testing.T) {
	t.Parallel()
	canaries := make([]string, 0, 2)
	for dir, mode := range map[string]fs.FileMode{"/root": 0o600, "/var/tmp": 0o666} {
		canary, err := os.CreateTemp(dir, "yurt-canary-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(canary.Name()) })
		if err := errors.Join(canary.Chmod(mode), canary.Close()); err != nil {
			t.Fatal(err)
		}
		canaries = append(canaries, canary.Name())
	}
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s, reference := takenOver(t, fmt.Sprintf(`
for path in (%q, %q, "/etc/passwd", "/proc/%[3]d/environ"):
    attempt("read " + path, lambda: open(path).read())
for path in (%[2]q, "/usr/x", "/x", "/program/x"):
    attempt("write " + path, lambda: open(path, "w"))
attempt("connect", lambda: socket.socket(socket.AF_UNIX).connect(%[4]q))
attempt("tcp", lambda: socket.socket())
attempt("signal", lambda: os.kill(%[3]d, 0))
attempt("root", lambda: os.setuid(0))
attempt("own directory", lambda: open("/tmp/x", "w"))
said.append("uid %%d" %% os.getuid())
tell()
`, canaries[0], canaries[1], os.Getpid(), listener.Addr().String()))
	_, err = s.Get(t.Context(), reference, "test", false, silent)
	if err == nil || yurt.CodeOf(err) != yurt.CodeArchiveInvalid {
		t.Fatalf("the pull: %v", err)
	}
	if said := err.Error(); strings.Count(said, "refused") != 12 || strings.Count(said, "worked") != 1 || !strings.Contains(said, "own directory worked") || !strings.Contains(said, "uid 21474") {
		t.Errorf("the unpacker says: %s", said)
	}
}

// TestTakenOverUnpackerStaysWithinItsBounds has it take memory, processes and time.
func TestTakenOverUnpackerStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ body, want string }{
		"memory": {"kept = bytearray(400 << 20)\nfor i in range(0, len(kept), 4096): kept[i] = 1\ntell()", "more memory than the 256Mi"},
		"processes": {`
n = 0
try:
    for i in range(200):
        if os.fork() == 0:
            import time; time.sleep(60)
        n += 1
except OSError:
    pass
said.append("started fewer than 64" if n < 64 else "started %d" % n)
tell()
sys.stdout.flush()
os._exit(0)
`, "started fewer than 64"},
		"words": {"sys.stderr.write('x' * (1 << 24)); sys.exit(3)", "exit status 3"},
		"lies":  {"print('{\"code\": \"')", "reading the unpacker's answer"},
		"flood": {"print('[' * (1 << 24))", "reading the unpacker's answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reference := takenOver(t, tt.body)
			_, err := s.Get(t.Context(), reference, "test", false, silent)
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 2000 {
				t.Errorf("the pull: %v", err)
			}
		})
	}
}

// TestTakenOverUnpackerLeavesNothingElse has it make files that layers cannot have.
func TestTakenOverUnpackerLeavesNothingElse(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"fifo":   "os.mkfifo('/tmp/x')",
		"socket": "socket.socket(socket.AF_UNIX).bind('/tmp/x')",
		"setuid": "open('/tmp/x', 'w').close(); os.chmod('/tmp/x', 0o4755)",
		"setgid": "os.mkdir('/tmp/x'); os.chmod('/tmp/x', 0o2755)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reference := takenOver(t, body+"\ntell(code='')")
			_, err := s.Get(t.Context(), reference, "test", false, silent)
			if err == nil || !strings.Contains(err.Error(), "which the unpacker does not make") {
				t.Errorf("the pull: %v", err)
			}
		})
	}
}

// TestUnpackedFilesAreRoots looks at the owners of the files that the unpacker made as a user of its own.
func TestUnpackedFilesAreRoots(t *testing.T) {
	t.Parallel()
	registry := newLoopback(t)
	reference := registry.push(t, "app", layered(t, v1.Config{}, archive(t, dir("d/"), file("d/a", "12345"), link("l", "d/a"), hard("h", "d/a"))))
	s := open(t, Config{Registries: []string{registry.host}})
	image := get(t, s, reference, "test")
	err := filepath.WalkDir(image.Root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 0 || stat.Gid != 0 {
			t.Errorf("%s: %+v", path, stat)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPowerAndNoUnpacker: a node with power unpacks in no other way.
func TestPowerAndNoUnpacker(t *testing.T) {
	t.Parallel()
	registry := newLoopback(t)
	reference := registry.push(t, "app", layered(t, v1.Config{}, archive(t, file("a", "1"))))
	s := open(t, Config{Registries: []string{registry.host}})
	s.config.Programs = nil
	if _, err := s.Get(t.Context(), reference, "test", false, silent); err == nil || !strings.Contains(err.Error(), "no way to unpack without it") {
		t.Errorf("the pull: %v", err)
	}
}

// TestDirectoriesWithoutWriting: some distributions have them, with files in them. The unpacker has no power to write there in spite of the mode.
func TestDirectoriesWithoutWriting(t *testing.T) {
	t.Parallel()
	registry := newLoopback(t)
	sealed := dir("d/")
	sealed.Mode = 0o555
	reference := registry.push(t, "app", layered(t, v1.Config{}, archive(t, sealed, file("d/a", "1")), archive(t, file("d/b", "2"))))
	s := open(t, Config{Registries: []string{registry.host}})
	image := get(t, s, reference, "test")
	for _, name := range []string{"d/a", "d/b"} {
		if _, err := os.Stat(filepath.Join(image.Root, name)); err != nil {
			t.Error(err)
		}
	}
}
