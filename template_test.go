package yurt_test

import (
	"testing"

	"github.com/yurtrun/yurt"
)

func TestKernelOfTemplate(t *testing.T) {
	for _, tt := range []struct{ chosen, requirement, want string }{
		{"", "", ""},
		{"", "ipython", "ipython"},
		{"", "IPython[test] >= 8", "ipython"},
		{"", "ipython==9.18.1", "ipython"},
		{"", "ipython@ https://example.com/ipython.whl", "ipython"},
		{"", "ipython-genutils", ""},
		{"", "ipykernel", ""},
		{"yurt", "ipython", ""},
		{"ipykernel", "ipython", "ipykernel"},
		{"ipython", "", "ipython"},
	} {
		template := yurt.Template{Dependencies: map[string][]string{"python": {"numpy", tt.requirement}, "javascript": {"ipython"}}}
		if tt.chosen != "" {
			template.Kernels = map[string]string{"python": tt.chosen}
		}
		if got := template.Kernel("python"); got != tt.want {
			t.Errorf("kernel %q and the package %q choose %q, want %q", tt.chosen, tt.requirement, got, tt.want)
		}
		if got := template.Kernel("javascript"); got != "" {
			t.Errorf("JavaScript has the kernel %q, want its own", got)
		}
	}
}
