package sandbox

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

func TestRecordsComeBackAsTheyWereWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	want := Record{
		Version: records.Version, IDBase: idrange.First, CreatedAt: time.Unix(1, 2).UTC(),
		Spec: yurt.SandboxSpec{ID: yurt.NewSandboxID(), Resources: yurt.DefaultResources(), Labels: map[string]string{"a": "b"}},
		Init: procid.ID{PID: 1, Start: 2, Boot: "boot"}, Phases: map[string]float64{"total": 1.5},
	}
	for range 2 { // and over an old one
		if err := records.Write(path, want); err != nil {
			t.Fatal(err)
		}
		var got Record
		if err := records.Read(path, &got); err != nil || !reflect.DeepEqual(got, want) {
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
		var record Record
		_ = records.Read(path, &record)
		_ = record.Init.Alive()
	})
}
