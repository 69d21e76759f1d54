package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
)

func TestValidateInfo(t *testing.T) {
	t.Parallel()
	valid := func() yurt.RuntimeInfo {
		return yurt.RuntimeInfo{Name: "c++", Version: "1.0", Languages: []string{"c++", "c#", "python3.11"}, Extensions: []string{".tar.gz"}, Abilities: []string{"code"}}
	}
	if err := validateInfo(valid()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*yurt.RuntimeInfo){
		"no name":         func(i *yurt.RuntimeInfo) { i.Name = "" },
		"upper case":      func(i *yurt.RuntimeInfo) { i.Languages[0] = "Python" },
		"no language":     func(i *yurt.RuntimeInfo) { i.Languages = nil },
		"many languages":  func(i *yurt.RuntimeInfo) { i.Languages = make([]string, maxNames+1) },
		"long ability":    func(i *yurt.RuntimeInfo) { i.Abilities[0] = strings.Repeat("x", protocol.MaxNameBytes+1) },
		"extension":       func(i *yurt.RuntimeInfo) { i.Extensions[0] = "../x" },
		"kernel":          func(i *yurt.RuntimeInfo) { i.Kernels = []string{"a b"} },
		"host path ..":    func(i *yurt.RuntimeInfo) { i.HostPaths = []string{"/etc/../root"} },
		"host path /":     func(i *yurt.RuntimeInfo) { i.HostPaths = []string{"/"} },
		"relative path":   func(i *yurt.RuntimeInfo) { i.Path = []string{"bin"} },
		"two paths":       func(i *yurt.RuntimeInfo) { i.Path = []string{"/bin:/tmp"} },
		"many paths":      func(i *yurt.RuntimeInfo) { i.HostPaths = slices.Repeat([]string{"/etc/x"}, maxNames+1) },
		"version escapes": func(i *yurt.RuntimeInfo) { i.Version = "\x1b" },
	} {
		info := valid()
		change(&info)
		if err := validateInfo(info); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
