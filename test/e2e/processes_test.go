package e2e

import (
	"testing"

	"github.com/yurtrun/yurt/executor/broker/child"
	"github.com/yurtrun/yurt/executor/doctor"
	"github.com/yurtrun/yurt/executor/idrange"
)

// TestDoctorTellsBrokerFromExecutor: yurt doctor --processes names the two processes of a server, and shows that the executor has lost
// capabilities and system calls.
func TestDoctorTellsBrokerFromExecutor(t *testing.T) {
	_, server := serveProcess(t)
	executor, err := server.ExecutorPID()
	if err != nil {
		t.Fatal(err)
	}
	list, err := doctor.Processes()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]doctor.Process{}
	for _, p := range list {
		if p.PID == server.PID() || p.PID == executor {
			seen[p.Program] = p
		}
	}
	b, e := seen["yurt (broker)"], seen["yurt (executor)"]
	if b.PID != server.PID() || e.PID != executor {
		t.Fatalf("it shows %+v, want process %d as the broker and %d as the executor", seen, server.PID(), executor)
	}
	if most := len(child.Capabilities()); len(e.Capabilities) > most || len(e.Bounding) > most || len(b.Capabilities) <= len(e.Capabilities) {
		t.Errorf("the executor has the capabilities %v and could get %v, the broker has %v; want %d at most, and fewer than the broker", e.Capabilities, e.Bounding, b.Capabilities, most)
	}
	if e.UID != idrange.Executor || b.UID != 0 {
		t.Errorf("the executor is user %d and the broker user %d, want %d and 0", e.UID, b.UID, idrange.Executor)
	}
	if e.Filters == 0 || !e.NoNewPrivs {
		t.Errorf("the executor has %d filters of system calls, no_new_privs %t", e.Filters, e.NoNewPrivs)
	}
}
