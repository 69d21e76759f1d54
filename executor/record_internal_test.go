package executor

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

func TestProcessIdentity(t *testing.T) {
	// A program may call itself what looks like the fields that follow its name.
	odd := filepath.Join(t.TempDir(), "x) R 1 2 3 (")
	if err := os.Symlink("/bin/sleep", odd); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), odd, "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := identify(cmd.Process.Pid)
	if err != nil || id.PID != cmd.Process.Pid || id.Start == 0 || id.Boot == "" {
		t.Fatalf("it is %+v, %v", id, err)
	}
	if !id.alive() {
		t.Error("it runs and is not alive")
	}
	if self, err := identify(os.Getpid()); err != nil || self.Start > id.Start || self.Boot != id.Boot {
		t.Errorf("this process is %+v, %v, and began its child %+v", self, err, id)
	}
	for name, other := range map[string]processIdentity{
		"began later":  {id.PID, id.Start + 1, id.Boot},
		"another boot": {id.PID, id.Start, "another"},
		"none":         {},
		"negative":     {-1, id.Start, id.Boot},
		"the highest":  {1 << 22, id.Start, id.Boot},
	} {
		if other.alive() && other != id {
			t.Errorf("%s: %+v is alive", name, other)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// A zombie has ended, though its number is not free yet.
	for deadline := time.Now().Add(5 * time.Second); id.alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it was killed and is alive")
		}
	}
	if err := syscall.Kill(id.PID, 0); err != nil {
		t.Errorf("it is not there as a zombie: %v", err)
	}
	cmd.Wait()
	if id.alive() {
		t.Error("it is gone and alive")
	}
}

func TestRecordsComeBackAsTheyWereWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	want := sandboxRecord{
		Version: recordVersion, IDBase: firstID, CreatedAt: time.Unix(1, 2).UTC(),
		Spec: yurt.SandboxSpec{ID: yurt.NewSandboxID(), Resources: yurt.DefaultResources(), Labels: map[string]string{"a": "b"}},
		Init: processIdentity{1, 2, "boot"}, Phases: map[string]float64{"total": 1.5},
	}
	for range 2 { // and over an old one
		if err := writeRecord(path, want); err != nil {
			t.Fatal(err)
		}
		var got sandboxRecord
		if err := readRecord(path, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside it there is %v, %v", entries, err)
	}
}

func TestRecordThatIsTorn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "record")
	if err := writeRecord(path, sandboxRecord{Version: 1}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := readRecord(path, new(sandboxRecord)); err == nil {
			t.Errorf("cut at %d it was believed", cut)
		}
	}
	// A write that fails leaves what was there.
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeRecord(path, sandboxRecord{Version: 2}); err == nil {
		t.Error("it was written where nothing can be")
	}
	var got sandboxRecord
	if err := readRecord(path, &got); err != nil || got.Version != 1 {
		t.Errorf("the old one is %+v, %v", got, err)
	}
}

func TestCgroupName(t *testing.T) {
	a, b := CgroupName("/var/lib/yurt"), CgroupName("/var/lib/yurt2")
	if a == b || a != CgroupName("/var/lib/yurt") || filepath.Base(a) != a {
		t.Errorf("names are %q and %q", a, b)
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"spec":{"id":"sbx_1","resources":{"cpu":1,"memory":"512Mi"}},"init":{"pid":1}}`))
	f.Add([]byte(`{"version":1e99}`))
	f.Add([]byte(`{"init":{"start":-1}}`))
	f.Add([]byte("null"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "record")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var sandbox sandboxRecord
		var run runRecord
		_, _ = readRecord(path, &sandbox), readRecord(path, &run)
		_ = sandbox.Init.alive()
	})
}
