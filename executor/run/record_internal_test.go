package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/executor/records"
)

func FuzzReadRunRecord(f *testing.F) {
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
	})
}
