package driver

import (
	"testing"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"
)

// TestEvents has events reach all watchers, and no watcher wait for one that does not read.
func TestEvents(t *testing.T) {
	t.Parallel()
	var e events
	task := &drivers.TaskConfig{Id: "a/b/c", AllocId: "a", Name: "b"}
	e.say(task, "to nobody")
	first, stop := e.watch()
	second, stopSecond := e.watch()
	defer stopSecond()
	e.say(task, "to both")
	stop()
	for range 2 * maxEvents {
		e.say(task, "to the second")
	}
	if event := <-first; event.GetMessage() != "to both" || event.GetTaskId() != "a/b/c" || event.GetAllocId() != "a" || event.GetTaskName() != "b" {
		t.Errorf("it says %v", event)
	}
	if len(first) != 0 || len(second) != maxEvents {
		t.Errorf("waiting are %d and %d", len(first), len(second))
	}
}
