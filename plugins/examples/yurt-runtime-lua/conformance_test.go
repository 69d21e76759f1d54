package main

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt/test/rig"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	rig.Conformance(t, "lua", os.DirFS("testdata/samples"))
}
