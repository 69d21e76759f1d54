package programs_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/binary"
)

// sleeper is a node's programs with a runtime "sleeper" that says its user and sleeps, and with an unpacker that ends at once with code 7.
func sleeper(t *testing.T) (local *programs.Local, config programs.Config) {
	t.Helper()
	config = programs.Config{PluginDir: t.TempDir(), ImagesDir: t.TempDir(), Unpacker: filepath.Join(t.TempDir(), "unpacker")}
	for path, script := range map[string]string{
		filepath.Join(config.PluginDir, plugins.BinaryPrefix+"sleeper"): "#!/bin/sh\nid -u\nexec sleep 600\n",
		config.Unpacker: "#!/bin/sh\nread line; echo \"$line\" > /tmp/made; exit 7\n",
	} {
		if err := errors.Join(os.WriteFile(path, []byte(script), 0o600), os.Chmod(path, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	local = programs.New(config)
	t.Cleanup(local.Close)
	return local, config
}

func request(name string) binary.Request {
	return binary.Request{Name: name, LogLevel: "info", Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))}
}

// TestProgramsEndWithTheirCaller: at EndAll, which is the end of an executor, and by a request.
func TestProgramsEndWithTheirCaller(t *testing.T) {
	local, _ := sleeper(t)
	for name, end := range map[string]func(id uint64) error{
		"its caller's end": func(uint64) error { local.EndAll(); return nil },
		"a request":        local.KillProgram,
	} {
		started, err := local.StartRuntime(request("sleeper"))
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 100)
		n, err := started.Files[0].Read(out)
		if said := string(out[:n]); err != nil || !strings.HasPrefix(said, "2147") {
			t.Errorf("%s: the program's user is %q, %v; want one of its own", name, said, err)
		}
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := local.AwaitProgram(short, started.ID); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: waiting for a program that runs: %v", name, err)
		}
		cancel()
		if err := end(started.ID); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadAll(started.Files[0]); err != nil { // which ends with the program
			t.Error(err)
		}
		for _, file := range started.Files {
			file.Close()
		}
		if name == "a request" {
			if end, err := local.AwaitProgram(t.Context(), started.ID); err != nil || end.Signal != int(unix.SIGKILL) {
				t.Errorf("it ended as %+v, %v", end, err)
			}
		}
		if err := local.KillProgram(started.ID); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("%s: the program is still known: %v", name, err)
		}
	}
}

// TestUnpackerHasOneImage: it writes to the tree of an image that is being made, by its name, and its end is told.
func TestUnpackerHasOneImage(t *testing.T) {
	local, config := sleeper(t)
	tree := filepath.Join(config.ImagesDir, "new-ABC234", "tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	started, err := local.StartUnpacker(programs.Unpacking{Image: "new-ABC234", FileBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := started.Files[0].WriteString("order\n"); err != nil {
		t.Fatal(err)
	}
	end, err := local.AwaitProgram(t.Context(), started.ID)
	if err != nil || end.Code != 7 || end.Signal != 0 {
		t.Errorf("it ended as %+v, %v; want code 7", end, err)
	}
	for _, file := range started.Files {
		file.Close()
	}
	if made, err := os.ReadFile(filepath.Join(tree, "made")); string(made) != "order\n" {
		t.Errorf("the tree has %q, %v", made, err)
	}
}

// TestRequestsCarryNoPath: nor a program or a directory that is another's.
func TestRequestsCarryNoPath(t *testing.T) {
	local, config := sleeper(t)
	outside := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(outside, "tree"), 0o755),
		os.Symlink(outside, filepath.Join(config.ImagesDir, "new-LINKED")),
		os.MkdirAll(filepath.Join(config.ImagesDir, "new-INSIDE"), 0o755),
		os.Symlink(outside, filepath.Join(config.ImagesDir, "new-INSIDE", "tree")),
		os.MkdirAll(filepath.Join(config.ImagesDir, strings.Repeat("0a", 32), "tree"), 0o755),
		os.Symlink("/bin/true", filepath.Join(config.PluginDir, "other")),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "other", "../other", "/bin/sh", "sleeper/../other", "sleeper\x00", "SLEEPER", strings.Repeat("a", 65)} {
		if started, err := local.StartRuntime(request(name)); err == nil {
			t.Errorf("it started %q as process %d", name, started.PID)
		}
	}
	for field, spoil := range map[string]func(*binary.Request){
		"certificate": func(r *binary.Request) { r.Certificate = "LD_PRELOAD=/x" },
		"log_level":   func(r *binary.Request) { r.LogLevel = "info\nLD_PRELOAD=/x" },
	} {
		r := request("sleeper")
		spoil(&r)
		var refused *yurt.Error
		if _, err := local.StartRuntime(r); !errors.As(err, &refused) || refused.Field != field {
			t.Errorf("another %s: %v", field, err)
		}
	}
	for _, image := range []string{"", ".", "..", "new-", "new-../x", "/root", "new-LINKED", "new-INSIDE", strings.Repeat("0a", 32), "new-ABSENT"} {
		if _, err := local.StartUnpacker(programs.Unpacking{Image: image, FileBytes: 1}); err == nil {
			t.Errorf("an unpacker has the directory %q", image)
		}
	}
	var stat unix.Stat_t
	if err := unix.Stat(filepath.Join(outside, "tree"), &stat); err != nil || stat.Uid != 0 {
		t.Errorf("the directory behind the links is user %d's, %v", stat.Uid, err)
	}
}
