package node_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestDestroyIsDoneForItsCaller: once the call returns, the node does not list the sandbox any more, and callers that
// wait for its executions are answered, though it is removed in the background.
func TestDestroyIsDoneForItsCaller(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	spec := testutil.Command("sleep 300")
	if err := e.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := e.WaitExecution(t.Context(), s.ID, spec.ID)
		waited <- err
	}()
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if list, err := e.Sandboxes(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("it still has %+v, %v", list, err)
	}
	if err := e.StartExecution(t.Context(), s.ID, testutil.Command("true")); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("something was started in it: %v", err)
	}
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Errorf("destroying it again: %v", err)
	}
	if err := <-waited; err != nil && yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("who waited was told %v", err)
	}
	if err := e.DestroyAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.StartExecution(t.Context(), s.ID, testutil.Command("true")); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("after its removal: %v", err)
	}
}

// TestSharedMountsAreHarmless: sandboxes can neither write to files that they share with the host or each other, nor
// gain privileges from them.
func TestSharedMountsAreHarmless(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	r := testutil.Run(t, e, s.ID, `awk '$5 !~ "^/(proc|tmp|run/yurt|workspace|dev/pts|dev/shm)($|/)" {
		n++
		if ($6 !~ "(^|,)ro(,|$)") print $5, "can be written"
		if ($5 != "/" && $6 !~ "nosuid") print $5, "honours setuid"
		if ($5 != "/" && $5 != "/dev" && $6 !~ "nodev") print $5, "has devices"
	} END { if (n < 3) print "only", n, "mounts" }' /proc/self/mountinfo
	for f in /usr/x /dev/x /x /etc/x; do touch $f 2>/dev/null && echo wrote $f; done
	touch /dev/null 2>/dev/null && echo touched the null device
	chmod 600 /dev/zero 2>/dev/null && echo changed the zero device
	echo x >/dev/null && head -c 3 /dev/zero | wc -c`)
	if r.Stdout != "3\n" {
		t.Errorf("it says\n%s%s", r.Stdout, r.Stderr)
	}
}
