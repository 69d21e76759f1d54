package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestTimeoutTakesTheWholeTree: processes started in every way that tries to outlive the starter
// have to be gone.
func TestTimeoutTakesTheWholeTree(t *testing.T) {
	client := serve(t)
	session := create(t, client, "python-basic")
	const code = `import os, subprocess, time
subprocess.Popen(["sleep", "1717"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "1717"])
    os._exit(0)
print("partial", flush=True)
time.sleep(60)
`
	begun := time.Now()
	result := execute(t, client, session.ID, yurtclient.ExecuteRequest{Code: code, Language: "python", Timeout: yurt.Duration(time.Second)})
	if result.Error == nil || result.Error.Type != yurt.ErrorTypeTimeout || result.ExitCode != yurt.ExecutionExitTimeout {
		t.Errorf("exit code %d, error %+v; want a timeout", result.ExitCode, result.Error)
	}
	if result.Stdout != "partial\n" {
		t.Errorf("the partial output is %q", result.Stdout)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	left := shell(t, client, session.ID, "cat /proc/[0-9]*/comm 2>/dev/null; true") // a killed one may vanish meanwhile
	if strings.Contains(left.Stdout, "sleep") || strings.Contains(left.Stdout, "python") {
		t.Errorf("processes of it are left: %q", left.Stdout)
	}
}

func TestOutOfMemoryIsSaidAndTheSessionSurvives(t *testing.T) {
	client := serve(t)
	session := create(t, client, "python-basic", func(r *yurtclient.CreateSessionRequest) {
		r.Resources = &yurtclient.Resources{Memory: 64 << 20}
	})
	shell(t, client, session.ID, "echo kept > file")
	result := execute(t, client, session.ID, yurtclient.ExecuteRequest{
		Language: "python", Code: "print('before', flush=True)\nb = bytearray()\nwhile True: b += bytes(1 << 20)\n",
	})
	if result.Error == nil || result.Error.Type != yurt.ErrorTypeOutOfMemory || result.ExitCode == 0 {
		t.Errorf("exit code %d, error %+v; want out of memory", result.ExitCode, result.Error)
	}
	if result.Stdout != "before\n" {
		t.Errorf("the output before it is %q", result.Stdout)
	}
	if again := shell(t, client, session.ID, "cat file"); again.Stdout != "kept\n" {
		t.Errorf("afterwards the file holds %q", again.Stdout)
	}
}

func limited(t *testing.T, client *yurtclient.Client, resources yurtclient.Resources) yurt.Session {
	t.Helper()
	return create(t, client, "python-basic", func(r *yurtclient.CreateSessionRequest) { r.Resources = &resources })
}

func TestDiskLimitHolds(t *testing.T) {
	t.Parallel()
	client := serve(t)
	session := limited(t, client, yurtclient.Resources{Disk: 4 << 20})
	result := execute(t, client, session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "head -c 16777216 /dev/zero > big"}})
	if result.ExitCode == 0 || !strings.Contains(result.Stderr, "No space left") {
		t.Errorf("16 MiB fit into 4: exit code %d, %q", result.ExitCode, result.Stderr)
	}
	shell(t, client, session.ID, "rm big; head -c 1048576 /dev/zero > small")
}

func TestProcessLimitHolds(t *testing.T) {
	t.Parallel()
	client := serve(t)
	session := limited(t, client, yurtclient.Resources{PIDs: 20})
	result := execute(t, client, session.ID, yurtclient.ExecuteRequest{Language: "python", Code: `import os, signal, time
children = []
try:
    while len(children) < 100:
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
        children.append(child)
except OSError:
    pass
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print(len(children))
`})
	forked, err := strconv.Atoi(strings.TrimSpace(result.Stdout))
	if err != nil || forked < 10 || forked > 20 {
		t.Errorf("%q processes could be forked beside the first, under a limit of 20 (%s)", result.Stdout, result.Stderr)
	}
	shell(t, client, session.ID, "sh -c true; sh -c true") // there is room again
}

func TestCPULimitHolds(t *testing.T) {
	client := serve(t)
	session := limited(t, client, yurtclient.Resources{CPU: 0.25})
	result := shell(t, client, session.ID, "timeout 1 sh -c 'while :; do :; done' || true")
	if share := result.Metrics.CPUMS / result.Metrics.DurationMS; share > 0.4 || share == 0 {
		t.Errorf("it got %.2f of a core; the limit is 0.25", share)
	}
}

func TestSessionsRunOut(t *testing.T) {
	t.Parallel()
	client := serve(t)
	idle := create(t, client, "shell-basic", func(r *yurtclient.CreateSessionRequest) { r.IdleTimeout = yurt.Duration(time.Second) })
	old := create(t, client, "shell-basic", func(r *yurtclient.CreateSessionRequest) { r.Timeout = yurt.Duration(time.Second) })
	for id, want := range map[string]string{idle.ID: "idle", old.ID: "lifetime"} {
		session := waitFor(t, client, id, yurt.SessionTerminated)
		if !strings.Contains(session.Reason, want) {
			t.Errorf("session %s ended for %q, want something about %s", id, session.Reason, want)
		}
	}
}

// waitFor waits until the session is in the state.
func waitFor(t *testing.T, client *yurtclient.Client, id string, state yurt.SessionState) yurt.Session {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		session, err := client.Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if session.State == state {
			return session
		}
		if time.Now().After(deadline) {
			t.Fatalf("session %s is %s (%s) after 10s, want %s", id, session.State, session.Reason, state)
		}
	}
}
