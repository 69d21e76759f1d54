package nomad

import (
	"fmt"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// killSignals stops tasks with signals that are not the usual ones, all of which Nomad lets a job
// name: each gets its signal, and the one that gets no signal is killed in time.
func (n *node) killSignals(t *testing.T) {
	signals := []string{"PIPE", "PROF", "IO", "TTIN", "XCPU"}
	var job strings.Builder
	job.WriteString("job \"kill-signals\" {\n group \"g\" {\n")
	for _, name := range append(signals, "NULL") {
		trap, timeout := fmt.Sprintf("trap 'echo got %s; exit 0' %s; ", name, name), "60s"
		if name == "NULL" {
			trap, timeout = "", "1s"
		}
		fmt.Fprintf(&job, "task %q {\n driver = \"yurt\"\n kill_signal = \"SIG%s\"\n kill_timeout = %q\n config {\n command = \"sh\"\n args = [\"-c\", %q]\n }\n resources {\n cpu = 20\n memory = 32\n }\n}\n",
			name, name, timeout, trap+"echo begun; while :; do sleep 0.1; done")
	}
	job.WriteString("}\n}\n")
	n.job(t, job.String())
	alloc := n.WaitRunning(t, "kill-signals")
	for _, name := range append(signals, "NULL") {
		testutil.Eventually(t, name+" has begun", func() bool { return n.started(alloc.ID, name) && n.Logs(t, alloc, name, "stdout") == "begun\n" })
	}
	if _, _, err := n.API.Jobs().Deregister("kill-signals", false, nil); err != nil {
		t.Fatal(err)
	}
	ended := n.WaitDone(t, "kill-signals")
	for _, name := range signals {
		if out := n.Logs(t, ended, name, "stdout"); out != "begun\ngot "+name+"\n" || exitCode(ended, name) != 0 {
			t.Errorf("with SIG%s it printed %q and ended with %d%s", name, out, exitCode(ended, name), cluster.Describe(ended))
		}
	}
	if code := exitCode(ended, "NULL"); code != 137 {
		t.Errorf("without a signal it ended with %d", code)
	}
}

// started reports whether a task of the allocation runs: Nomad has no logs of it before, even where
// another task makes the allocation a running one.
func (n *node) started(allocID, task string) bool {
	alloc, _, err := n.API.Allocations().Info(allocID, nil)
	return err == nil && alloc.TaskStates[task] != nil && alloc.TaskStates[task].State == "running"
}

// reload tells a task by a signal that the content of a template block has changed: the parent
// process of its children goes on with them.
func (n *node) reload(t *testing.T) {
	word := func(value string) {
		t.Helper()
		variable := &nomad.Variable{Path: "nomad/jobs/reload", Items: nomad.VariableItems{"word": value}}
		if _, _, err := n.API.Variables().Create(variable, nil); err != nil {
			t.Fatal(err)
		}
	}
	word("first")
	line := `trap 'echo $(cat /local/word)' HUP; trap 'echo real-time' 36; sleep 3600 & child=$!; echo begun
while :; do wait $child; kill -0 $child || exit 9; done`
	n.job(t, task("reload", "service", line, `kill_timeout = "1s"
      template {
        data          = "{{ with nomadVar \"nomad/jobs/reload\" }}{{ .word }}{{ end }}"
        destination   = "local/word"
        change_mode   = "signal"
        change_signal = "SIGHUP"
      }`))
	alloc := n.WaitRunning(t, "reload")
	n.printed(t, alloc, "begun\n")
	word("second")
	n.printed(t, alloc, "begun\nsecond\n")
	if err := n.API.Allocations().Signal(alloc, nil, "t", "SIGRTMIN+2"); err != nil {
		t.Fatal(err)
	}
	n.printed(t, alloc, "begun\nsecond\nreal-time\n")
	if out, _, code := n.Exec(t, alloc, "t", "", "sh", "-c", "cat /proc/[0-9]*/comm | grep -c sleep"); out != "1\n" || code != 0 {
		t.Errorf("its child is gone: %q, %d", out, code)
	}
	if err := n.API.Allocations().Signal(alloc, nil, "t", "SIGNONE"); err == nil || !strings.Contains(err.Error(), "SIGNONE") {
		t.Errorf("a signal that there is not: %v", err)
	}
}
