package statedir

import (
	"path/filepath"
	"testing"
)

func TestCgroupName(t *testing.T) {
	a, b := CgroupName("/var/lib/yurt"), CgroupName("/var/lib/yurt2")
	if a == b || a != CgroupName("/var/lib/yurt") || filepath.Base(a) != a {
		t.Errorf("names are %q and %q", a, b)
	}
}
