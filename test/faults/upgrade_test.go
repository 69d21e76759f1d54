package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// Another build of the command takes over the running sandboxes, and reports its version.
func TestUpgrade(t *testing.T) {
	d := newDaemon(t)
	l := newLoad(t, d)
	s, ok := l.create()
	if !ok {
		t.Fatal("there is no sandbox")
	}
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/sh", "-c", "for i in 1 2 3 4 5; do echo $i; sleep 0.3; done"},
		Timeout: yurt.Duration(time.Minute), OutputLimit: 1 << 20,
	}
	if err := d.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	if info, err := d.Describe(t.Context()); err != nil || info.Version != "v1" || info.Node != "test" {
		t.Errorf("before, it is %+v, %v", info, err)
	}
	d.stop(syscall.SIGTERM)
	d.program = testutil.BuildYurt(t, "yurt-v2", "v2")
	d.start()
	if info, err := d.Describe(t.Context()); err != nil || info.Version != "v2" {
		t.Errorf("afterwards, it is %+v, %v", info, err)
	}
	l.checkSurvivors(readyOnes(s))
	l.watch(s.ID, spec.ID, "1\n2\n3\n4\n5\n")
	if out, ok := l.run(s.ID, "echo works on"); !ok || out != "works on\n" {
		t.Errorf("it prints %q", out)
	}
}

// An older version must not judge the records of a newer one: it refuses to begin, and changes no
// file.
func TestRecordsOfANewerVersionAreLeftAlone(t *testing.T) {
	d := newDaemon(t)
	l := newLoad(t, d)
	s, ok := l.create()
	if !ok {
		t.Fatal("there is no sandbox")
	}
	d.stop(syscall.SIGKILL)
	path := filepath.Join(d.stateDir, "run", "sandboxes", s.ID, "sandbox.json")
	known, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(known, &record); err != nil {
		t.Fatal(err)
	}
	record["version"], record["spec"] = 99, "in a form that this version does not know"
	newer, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	d.refuses(s.ID, "newer version")
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, newer) {
		t.Errorf("the record has changed: %v, %s", err, now)
	}
	if err := os.WriteFile(path, known, 0o600); err != nil {
		t.Fatal(err)
	}
	d.start()
	l.checkSurvivors(readyOnes(s))
}

// An older version does not know the places of a newer version's records, and would take sandboxes
// that it does not find for strays: it refuses to begin, ends no sandbox, and names the version
// that can go on.
func TestLayoutOfANewerVersionIsLeftAlone(t *testing.T) {
	d := newDaemon(t)
	l := newLoad(t, d)
	s, ok := l.create()
	if !ok {
		t.Fatal("there is no sandbox")
	}
	run, err := os.Readlink(filepath.Join(d.stateDir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	known, newer := filepath.Join(run, "sandboxes"), filepath.Join(run, "elsewhere")
	of := func(dir string) string { return filepath.Join(dir, "format.json") }
	for _, tt := range []struct {
		name   string
		dir    string
		format string
		says   []string
	}{
		{"the state directory says so", d.stateDir, `{"format":99,"yurt":"v99"}`, []string{"format 99", `"v99"`, `"v1"`, d.stateDir}},
		{"the runtime directory does, and the state directory was lost", run, `{"format":99,"yurt":"v99"}`, []string{"format 99", `"v99"`, `"v1"`, run}},
		{"it cannot be read", d.stateDir, `{"form`, []string{"does not say which format", "echo '{\"format\":1,", d.stateDir}},
	} {
		d.stop(syscall.SIGKILL)
		for _, dir := range []string{d.stateDir, run} {
			if err := os.Remove(of(dir)); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		rename(t, known, newer)
		if err := os.WriteFile(of(tt.dir), []byte(tt.format), 0o600); err != nil {
			t.Fatal(err)
		}
		d.refuses(tt.says...)
		if now, err := os.ReadFile(of(tt.dir)); err != nil || string(now) != tt.format {
			t.Errorf("%s: it became %s, %v", tt.name, now, err)
		}
		rename(t, newer, known)
		if err := os.Remove(of(tt.dir)); err != nil {
			t.Fatal(err)
		}
		d.start() // from before there was a format
		l.checkSurvivors(readyOnes(s))
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// refuses wants an executor not to begin, and to say why.
func (d *daemon) refuses(says ...string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, d.program, "executor", "--state-dir", d.stateDir).CombinedOutput()
	if err == nil || ctx.Err() != nil {
		d.t.Errorf("it began: %v, %s", err, out)
	}
	for _, part := range says {
		if !strings.Contains(string(out), part) {
			d.t.Errorf("it does not say %q: %s", part, out)
		}
	}
}

// A second executor on a state directory, or on a socket, gets an error, and the first is not
// disturbed.
func TestSecondExecutor(t *testing.T) {
	d := newDaemon(t)
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"on the same state directory", []string{"--state-dir", d.stateDir, "--listen", filepath.Join(t.TempDir(), "sock")}, "another yurt uses the state directory"},
		{"on the same socket", []string{"--state-dir", t.TempDir(), "--listen", d.socket()}, "another process listens on"},
	} {
		out, err := exec.CommandContext(t.Context(), d.program, append([]string{"executor"}, tt.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: %v, %s", tt.name, err, out)
		}
	}
	if _, err := d.Describe(t.Context()); err != nil {
		t.Errorf("the first: %v", err)
	}
}
