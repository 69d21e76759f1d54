package doctor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/executor/doctor"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestProcesses runs code, and looks at the power of each program that takes part.
func TestProcesses(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	if r := testutil.Execute(t, e, s.ID, testutil.Python("print(1)")); r.Stdout != "1\n" {
		t.Fatalf("code printed %q, error %+v", r.Stdout, r.Error)
	}
	list, err := doctor.Processes()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, p := range list {
		runtime := strings.HasPrefix(p.Program, "yurt-runtime-")
		switch {
		case runtime && p.Parent == os.Getpid():
			seen["runtime"]++
			checkRuntime(t, p)
		case p.Program == "yurt-init" && p.UID >= idrange.First && p.UID < idrange.Programs:
			seen["init"]++
			if len(p.Capabilities) > 6 || p.Filters == 0 || !p.NoNewPrivs {
				t.Errorf("%s %d has capabilities %v, %d filters", p.Program, p.PID, p.Capabilities, p.Filters)
			}
		default:
			continue
		}
		t.Logf("%+v", p)
	}
	if seen["runtime"] == 0 || seen["init"] == 0 {
		t.Errorf("saw %v in %+v", seen, list)
	}
}

func checkRuntime(t *testing.T, p doctor.Process) {
	t.Helper()
	if p.UID < idrange.Programs || p.UID >= idrange.End {
		t.Errorf("%s runs as user %d", p.Program, p.UID)
	}
	if len(p.Capabilities)+len(p.Bounding) > 0 || !p.NoNewPrivs || p.Filters == 0 {
		t.Errorf("%s has power: %+v", p.Program, p)
	}
	if got := strings.Join(p.Namespaces, " "); got != "mnt pid net ipc uts" {
		t.Errorf("%s has the namespaces %q of its own", p.Program, got)
	}
}
