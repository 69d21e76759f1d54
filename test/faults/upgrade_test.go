package faults

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/rig"
)

// Another build of the command takes over what runs, and says what it is.
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
	d.program = rig.BuildYurt(t, "yurt-next", "v2")
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

// What a newer version wrote is not this one's to judge: it refuses to begin, and
// touches nothing.
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
	out, err := exec.CommandContext(t.Context(), d.program, "executor", "--state-dir", d.stateDir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), s.ID) || !strings.Contains(string(out), "newer version") {
		t.Errorf("it began, or does not say why not: %v, %s", err, out)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, newer) {
		t.Errorf("the record has changed: %v, %s", err, now)
	}
	if err := os.WriteFile(path, known, 0o600); err != nil {
		t.Fatal(err)
	}
	d.start()
	l.checkSurvivors(readyOnes(s))
}

// Who is second on a state directory, or on a socket, is told so, and the first is not
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
