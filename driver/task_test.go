package driver

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/taskspec"
)

func TestHandle(t *testing.T) {
	h := handle{Version: handleVersion, Sandbox: yurt.SandboxIDPrefix + taskspec.Key("a/b/c"), Execution: yurt.ExecutionIDPrefix + taskspec.Key("a/b/c")}
	data, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := decodeHandle(data); err != nil || back.Sandbox != h.Sandbox || back.Execution != h.Execution {
		t.Errorf("%+v came back as %+v, %v", h, back, err)
	}
	for _, bad := range []string{"", "{}", `{"version":99}`, `{"version":1,"sandbox":"../x","execution":"exe_a"}`} {
		if h, err := decodeHandle([]byte(bad)); err == nil {
			t.Errorf("%q is the handle %+v", bad, h)
		}
	}
}

// FuzzHandle reads any bytes as a handle.
func FuzzHandle(f *testing.F) {
	f.Add([]byte(`{"version":1,"sandbox":"sbx_a","execution":"exe_b","started_at":"2026-01-02T03:04:05Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := decodeHandle(data)
		if err == nil && h.Slot == "" && !yurt.ValidID(yurt.SandboxIDPrefix, h.Sandbox) {
			t.Fatalf("%q is the handle %+v", data, h)
		}
	})
}
