package main

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	testutil.Conformance(t, "lua", os.DirFS("testdata/samples"))
}
