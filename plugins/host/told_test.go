package host

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pb "google.golang.org/protobuf/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/proto"
)

// toldVersion is the version that the file tells; a runtime of these tests that is started says another.
const toldVersion = "told"

// line is a line of the file about the runtime.
func line(t *testing.T, dir, name, version string) string {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(dir, plugins.BinaryPrefix+name))
	if err != nil {
		t.Fatal(err)
	}
	data, err := pb.Marshal(&proto.DescribeResponse{Name: name, Version: version, Languages: []string{name}, Abilities: []string{"code"}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	return hex.EncodeToString(sum[:]) + " " + name + " " + base64.StdEncoding.EncodeToString(data) + "\n"
}

func tell(t *testing.T, dir, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, DescriptionsFile)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// version returns the version of the one runtime, and wants it in the list of all and by its language.
func version(t *testing.T, h *Host, name string) string {
	t.Helper()
	list, err := h.Runtimes(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("the runtimes are %v (%v), expected one", list, err)
	}
	one, err := h.RuntimeOf(t.Context(), name)
	if err != nil || one.Version != list[0].Version {
		t.Fatalf("the runtime of %s is %v (%v), and %v in the list", name, one, err, list[0])
	}
	return one.Version
}

// TestTold: a description in the file stands for a start of its runtime until that is started for a plan, and only for the binary with
// its checksum.
func TestTold(t *testing.T) {
	t.Parallel()
	dir := pluginDir(t, "good")
	tell(t, dir, line(t, dir, "good", toldVersion), 0o644)
	h := newHost(t, dir, WithDescriptions())
	if got := version(t, h, "good"); got != toldVersion {
		t.Errorf("the version is %q, expected that of the file", got)
	}
	if live := h.installed["good"].live; live != nil {
		t.Errorf("the runtime was started as process %s", live.process.ID())
	}
	mustPlan(t, h, "good", "pid")
	if got := version(t, h, "good"); got == toldVersion {
		t.Error("the version is that of the file, though the process says another")
	}

	path := filepath.Join(dir, plugins.BinaryPrefix+"good")
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(program, "another build"...), 0o755); err != nil { //nolint:gosec // a program that others run
		t.Fatal(err)
	}
	if got := version(t, newHost(t, dir, WithDescriptions()), "good"); got == toldVersion {
		t.Error("another binary has the description of the one before it")
	}
}

// TestNotTold: a runtime whose description by the file cannot be trusted is started and asked.
func TestNotTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(line string) string
		mode   os.FileMode
		option Option
	}{
		"another checksum":      {func(l string) string { return strings.Repeat("0", 64) + l[64:] }, 0o644, WithDescriptions()},
		"described again":       {func(l string) string { return l + l }, 0o644, WithDescriptions()},
		"no description":        {func(l string) string { return strings.Join(strings.Fields(l)[:2], " ") }, 0o644, WithDescriptions()},
		"no base64":             {func(l string) string { return l[:70] + "%%%%\n" }, 0o644, WithDescriptions()},
		"no message":            {func(l string) string { return l[:70] + "/////w==\n" }, 0o644, WithDescriptions()},
		"a language is missing": {func(l string) string { return l[:70] + "CgRub25l\n" }, 0o644, WithDescriptions()},
		"too long":              {func(l string) string { return l + strings.Repeat("\n", maxDescriptions) }, 0o644, WithDescriptions()},
		"others may write":      {func(l string) string { return l }, 0o646, WithDescriptions()},
		"not allowed":           {func(l string) string { return l }, 0o644, func(*options) {}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := pluginDir(t, "good")
			tell(t, dir, tt.change(line(t, dir, "good", toldVersion)), tt.mode)
			if got := version(t, newHost(t, dir, tt.option), "good"); got == toldVersion {
				t.Error("the version is that of the file, expected that of the process")
			}
		})
	}
}

// TestToldAndChecksums: a host that holds binaries to checksums asks each runtime itself.
func TestToldAndChecksums(t *testing.T) {
	t.Parallel()
	dir := pluginDir(t, "good")
	tell(t, dir, line(t, dir, "good", toldVersion), 0o644)
	h := newHost(t, dir, WithDescriptions(), WithChecksums(map[string]string{"good": strings.Repeat("0", 64)}))
	_, err := h.RuntimeOf(t.Context(), "good")
	wantError(t, err, yurt.CodeRuntimeUnavailable, "runtime good is not started")
}
