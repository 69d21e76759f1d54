package node_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/shortage"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestMemoryLimit(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.Memory = 64 << 20 })
	r := testutil.Execute(t, e, s.ID, testutil.Python("print('before', flush=True)\nx = bytearray(512 << 20)\nprint('after')"))
	testutil.WantErrorType(t, r, yurt.ErrorTypeOutOfMemory)
	if r.Stdout != "before\n" || r.ExitCode != 137 {
		t.Errorf("exit %d, stdout %q", r.ExitCode, r.Stdout)
	}
	r = testutil.Execute(t, e, s.ID, testutil.Python("x = bytearray(16 << 20)\nprint(len(x))"))
	if r.Error != nil || r.Metrics.MemoryPeakBytes < 16<<20 || r.Metrics.MemoryPeakBytes > 64<<20 {
		t.Errorf("after that: %+v, peak %d", r.Error, r.Metrics.MemoryPeakBytes)
	}
}

// starving is a program whose children run out of memory one after the other. It writes a byte for each to the workspace.
const starving = `
import mmap, os
piece = b'x' * (1 << 20)
for n in range(1000):
    if os.fork() == 0:
        m = mmap.mmap(-1, 1 << 30)
        while True: m.write(piece)
    os.wait()
    with open('/workspace/ends', 'a') as f: f.write('x')
`

// endsOf returns how many children of [starving] have ended.
func endsOf(t *testing.T, e *executor.Executor, id string) int {
	t.Helper()
	info, err := e.StatFile(t.Context(), id, "ends")
	if err != nil && yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Fatal(err)
	}
	return int(info.Size)
}

// aboutTheBurst wants as many ends as a guard allows in that time: the burst, and one a second.
func aboutTheBurst(t *testing.T, n int, took time.Duration) {
	t.Helper()
	if most := 2*shortage.Burst + int(took.Seconds()); n < shortage.Burst-1 || n > most {
		t.Errorf("%d children were killed in %s, want %d to %d", n, took, shortage.Burst-1, most)
	}
}

// TestMemoryAgainAndAgain: processes that an execution has left behind may not run out of memory without end.
func TestMemoryAgainAndAgain(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.Memory = 32 << 20 })
	if _, err := e.WriteFile(t.Context(), s.ID, "starving.py", strings.NewReader(starving), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r := testutil.Run(t, e, s.ID, "(setsid python3 /workspace/starving.py >/dev/null 2>&1 &); true")
	if r.ExitCode != 0 {
		t.Fatalf("%+v", r)
	}
	testutil.Eventually(t, "children were killed", func() bool { return endsOf(t, e, s.ID) >= shortage.Burst-1 })
	n := 0
	testutil.Eventually(t, "no more children are killed", func() bool {
		before := n
		time.Sleep(2 * time.Second)
		n = endsOf(t, e, s.ID)
		return n == before
	})
	aboutTheBurst(t, n, time.Since(began))
}

// TestContextOutOfMemoryAgainAndAgain: nor may those of a context. The next process of the sandbox waits, and runs. On an emulated
// processor memory fills too slowly for this one.
func TestContextOutOfMemoryAgainAndAgain(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.Memory = 64 << 20 })
	began := time.Now()
	r := testutil.Execute(t, e, s.ID, testutil.Cell(starving, testutil.Timeout(30*time.Second)))
	testutil.WantErrorType(t, r, yurt.ErrorTypeOutOfMemory)
	took := time.Since(began)
	if took > 20*time.Second || !strings.Contains(r.Error.Message, "ended together") {
		t.Errorf("after %s: %+v", took, r.Error)
	}
	aboutTheBurst(t, endsOf(t, e, s.ID), took)
	if r := testutil.Execute(t, e, s.ID, testutil.Cell("print('works')")); r.Stdout != "works\n" {
		t.Errorf("afterwards: %+v", r)
	}
}

func TestProcessLimit(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.PIDs = 20 })
	r := testutil.Execute(t, e, s.ID, testutil.Python("import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(60); os._exit(0)\n    n += 1\nexcept OSError as e: print(n, e.errno)"))
	if r.Stdout != "19 11\n" { // itself, and EAGAIN
		t.Errorf("with 20 processes allowed it could start: %q, %+v", r.Stdout, r.Error)
	}
	testutil.Run(t, e, s.ID, "true") // refused or not, it must not hang
	bomb := testutil.Run(t, e, s.ID, ":(){ :|:& };:", testutil.Timeout(2*time.Second))
	if bomb.Error == nil && bomb.ExitCode == 0 {
		t.Logf("the bomb's own shell exited at once: %+v", bomb)
	}
}

// TestForkBombIsEndedByItsTimeout: the timeout ends a fork bomb, and its processes do not hinder the next execution.
func TestForkBombIsEndedByItsTimeout(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.PIDs = 64 })
	for range 5 {
		r := testutil.Execute(t, e, s.ID, testutil.Python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", testutil.Timeout(500*time.Millisecond)))
		testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
		if r := testutil.Run(t, e, s.ID, strings.Repeat("sleep 0.1 & ", 60)+"wait; echo alive"); r.Stdout != "alive\n" || r.Stderr != "" {
			t.Errorf("the sandbox does not work any more: %+v", r)
		}
	}
}

func TestCPULimit(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.CPU = 0.2 })
	r := testutil.Execute(t, e, s.ID, testutil.Python("import time\nend = time.time() + 2\nwhile time.time() < end: pass"))
	// A fifth of two seconds; a period more on either side is the kernel's business.
	if r.Error != nil || r.Metrics.CPUMS > 700 || r.Metrics.CPUMS < 50 {
		t.Errorf("used %.0f ms of CPU in 2 s at 0.2 cores: %+v", r.Metrics.CPUMS, r.Error)
	}
}

func TestDiskLimit(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.Disk = 8 << 20 })
	for _, dir := range []string{"/workspace", "/tmp"} {
		r := testutil.Run(t, e, s.ID, "head -c 20000000 /dev/zero > "+dir+"/big; stat -c %s "+dir+"/big; rm "+dir+"/big")
		if r.Stdout != "8388608\n" || !strings.Contains(r.Stderr, "No space left") {
			t.Errorf("%s took %q, said %q", dir, r.Stdout, r.Stderr)
		}
	}
	testutil.Run(t, e, s.ID, "head -c 20000000 /dev/zero > /workspace/big")
	_, err := e.WriteFile(t.Context(), s.ID, "more", strings.NewReader(strings.Repeat("x", 1<<20)), yurt.WriteOptions{})
	if yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
		t.Errorf("writing to a full workspace gave %v", err)
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Python("print('runs')")); r.Stdout != "runs\n" {
		t.Errorf("a full workspace keeps code from running: %+v", r)
	}
}

func TestLimitsThatTheNodeCannotHoldAreRefused(t *testing.T) {
	e := testutil.Executor(t)
	for name, change := range map[string]func(*yurt.Resources){
		"more memory than the host has":  func(r *yurt.Resources) { r.Memory = 1 << 41 },
		"more processes than the kernel": func(r *yurt.Resources) { r.PIDs = pidMax(t) + 1 },
		"more cores than the host has":   func(r *yurt.Resources) { r.CPU = 400 },
		"a negative limit":               func(r *yurt.Resources) { r.PIDs = -1 },
		"more disk than the host has":    func(r *yurt.Resources) { r.Disk = 1 << 41 },
	} {
		t.Run(name, func(t *testing.T) {
			spec := testutil.Spec()
			change(&spec.Resources)
			if _, err := e.CreateSandbox(t.Context(), spec); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
				t.Errorf("got %v", err)
			}
		})
	}
	spec := testutil.Spec()
	spec.Resources.Memory = 0
	if _, err := e.CreateSandbox(t.Context(), spec); err == nil {
		t.Error("a sandbox without a memory limit was made")
	}
}

// pidMax is the greatest process id of this process's pid namespace: kernels since 6.14 have one for each.
func pidMax(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return most
}

// TestTimeoutEndsAProcessWithoutItsMainThread: the kernel lists such a process by a
// thread that is dead already.
func TestTimeoutEndsAProcessWithoutItsMainThread(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	code := "import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\nprint('gone', flush=True)\nctypes.PyDLL(None).pthread_exit(None)"
	r := testutil.Execute(t, e, s.ID, testutil.Python(code, testutil.Timeout(testutil.Moment(t, time.Second))))
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	if r.Stdout != "gone\n" {
		t.Errorf("it said %q", r.Stdout)
	}
	testutil.Eventually(t, "the process is gone", func() bool {
		return testutil.Run(t, e, s.ID, "ps -eo comm= | grep -c python").Stdout == "0\n"
	})
}
