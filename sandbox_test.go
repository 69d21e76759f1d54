package yurt_test

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestWarmable: a sandbox that was made of the template alone becomes the one that a session asks
// for, or is refused for it.
func TestWarmable(t *testing.T) {
	for name, test := range map[string]struct {
		template, asked yurt.Resources
		layered         bool
		want            bool
	}{
		"the template's":          {want: true},
		"sizes in memory":         {asked: yurt.Resources{Memory: 64 << 20, Disk: 8 << 20, CPU: 2, PIDs: 9}, want: true},
		"sizes, layered":          {asked: yurt.Resources{Disk: 8 << 20}, layered: true},
		"processes, layered":      {asked: yurt.Resources{PIDs: 8}, layered: true, want: true},
		"on an image":             {asked: yurt.Resources{DiskKind: yurt.DiskImage}},
		"in memory, by name":      {asked: yurt.Resources{DiskKind: yurt.DiskMemory}, want: true},
		"off an image":            {template: yurt.Resources{DiskKind: yurt.DiskImage}, asked: yurt.Resources{DiskKind: yurt.DiskMemory}},
		"sizes, on an image":      {template: yurt.Resources{DiskKind: yurt.DiskImage}, asked: yurt.Resources{Disk: 64 << 20}},
		"weight":                  {asked: yurt.Resources{IOWeight: 7}},
		"the template's weight":   {template: yurt.Resources{IOWeight: 7}, asked: yurt.Resources{IOWeight: 7}, want: true},
		"ulimits":                 {asked: yurt.Resources{Ulimits: yurt.Ulimits{NoFile: 99}}},
		"one of several ulimits":  {template: yurt.Resources{Ulimits: yurt.Ulimits{NoFile: 99}}, asked: yurt.Resources{Ulimits: yurt.Ulimits{Stack: 1 << 20}}},
		"the template's ulimits":  {template: yurt.Resources{Ulimits: yurt.Ulimits{NoFile: 99, Stack: 1 << 20}}, asked: yurt.Resources{Ulimits: yurt.Ulimits{Stack: 1 << 20}}, want: true},
		"the template's, silence": {template: yurt.Resources{IOWeight: 7, DiskKind: yurt.DiskImage, Ulimits: yurt.Ulimits{FSize: 1 << 20}}, want: true},
	} {
		template := yurt.Template{Resources: test.template, Isolation: yurt.Isolation{PerExecution: test.layered}}
		spec := yurt.SandboxSpec{Template: template, Resources: test.asked.Or(test.template).Or(yurt.DefaultResources())}
		if got := spec.Warmable(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
