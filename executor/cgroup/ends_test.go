package cgroup

import (
	"context"
	"testing"
	"time"
)

// TestAwaitEnds: the wait returns with the last process, which leaves the cgroup empty, and with its context.
func TestAwaitEnds(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", modest())
	leaf, err := newLeaf(g, "run")
	if err != nil {
		t.Fatal(err)
	}
	if leaf.AwaitEnds(t.Context()) {
		t.Error("it has waited for processes of an empty cgroup")
	}
	cmd := sleepIn(t, leaf)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if !leaf.AwaitEnds(short) || short.Err() == nil {
		t.Error("it has not waited for a process that stays")
	}
	waited := make(chan bool, 1)
	go func() { waited <- leaf.AwaitEnds(t.Context()) }()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-waited // the process may have ended before it was seen
	_ = cmd.Wait()
	removeSoon(t, leaf)
}
