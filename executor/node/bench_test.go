package node_test

import (
	"os/exec"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

func BenchmarkCreateRunDestroy(b *testing.B) {
	e := testutil.Executor(b)
	for b.Loop() {
		s := testutil.Create(b, e)
		if r := testutil.Run(b, e, s.ID, "/bin/true"); r.ExitCode != 0 {
			b.Fatal(r)
		}
		if err := e.DestroySandbox(b.Context(), s.ID); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExec(b *testing.B) {
	e := testutil.Executor(b)
	s := testutil.Create(b, e)
	for b.Loop() {
		if r := testutil.Run(b, e, s.ID, "/bin/true"); r.ExitCode != 0 {
			b.Fatal(r)
		}
	}
}

// BenchmarkForkExec is the peer of BenchmarkExec.
func BenchmarkForkExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/sh", "-c", "/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
