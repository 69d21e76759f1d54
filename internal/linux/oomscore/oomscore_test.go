package oomscore

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// score returns that of a process.
func score(t *testing.T, process string) int {
	t.Helper()
	text, err := os.ReadFile(file(process))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLower lowers the score of this process, where it has the capability, and never raises it.
func TestLower(t *testing.T) {
	before := score(t, "self")
	if !MayLower() {
		if err := Lower(before - 10); err == nil || score(t, "self") != before {
			t.Errorf("without the capability the score became %d (%v), want %d and an error", score(t, "self"), err, before)
		}
		return
	}
	t.Cleanup(func() {
		if err := Set(os.Getpid(), before); err != nil {
			t.Error(err)
		}
	})
	for _, step := range []struct{ to, want int }{{before + 10, before}, {before - 10, before - 10}, {before, before - 10}} {
		if err := Lower(step.to); err != nil || score(t, "self") != step.want {
			t.Errorf("lowered to %d the score is %d (%v), want %d", step.to, score(t, "self"), err, step.want)
		}
	}
}

func TestSet(t *testing.T) {
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	if err := Set(child.Process.Pid, Sandbox); err != nil || score(t, strconv.Itoa(child.Process.Pid)) != Sandbox {
		t.Errorf("the score is %d (%v), want %d", score(t, strconv.Itoa(child.Process.Pid)), err, Sandbox)
	}
	if err := Set(-1, Sandbox); err == nil {
		t.Error("a process that is not there has a score")
	}
}
