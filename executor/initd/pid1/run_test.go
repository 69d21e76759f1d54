package pid1

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/test/testutil"
)

// testUser is a user that the host does not know.
const testUser = 1879048192 + 1000

// realInit is yurt-init in a process and in cgroups of its own, as it is in a
// sandbox, without a sandbox around it.
type realInit struct {
	*initd.Client

	pid   int
	group cgroup.Group
	next  func() string // ids of processes
}

func startInit(t *testing.T) *realInit {
	t.Helper()
	testutil.NeedsSandboxes(t)
	manager, err := cgroup.Open(fmt.Sprintf("yurt-test-pid1-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	if manager.Version() != 1 {
		t.Fatal("this test enters cgroups as a host with cgroup v1 does")
	}
	group, err := manager.Create("sandbox", cgroup.Limits{CPU: 2, Memory: 1 << 30, PIDs: 500})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context is done by now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := group.Destroy(ctx); err != nil {
			t.Errorf("destroying the test's cgroups: %v", err)
		}
		manager.RemoveParent()
	})
	socket := filepath.Join(t.TempDir(), "init.sock")
	cmd, stderr := initCommand(t, group, socket)
	if err := startBornIn(group, cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("yurt-init said: %s", stderr)
		}
	})
	i := &realInit{Client: initd.NewClient(socket), pid: cmd.Process.Pid, group: group}
	count, mu := 0, sync.Mutex{}
	i.next = func() string {
		mu.Lock()
		defer mu.Unlock()
		count++
		return "exe_" + strconv.Itoa(count)
	}
	if err := i.Ping(t.Context()); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	return i
}

func initCommand(t *testing.T, group cgroup.Group, socket string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	listener, err := initd.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	// A filter that allows everything: the true one is tested in sandboxes.
	path := filepath.Join(t.TempDir(), "filter")
	allow := binary.NativeEndian.AppendUint16(nil, unix.BPF_RET|unix.BPF_K)
	allow = binary.NativeEndian.AppendUint32(append(allow, 0, 0), unix.SECCOMP_RET_ALLOW)
	if err := os.WriteFile(path, allow, 0o600); err != nil {
		t.Fatal(err)
	}
	filter, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	homes, err := group.HomeFiles()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-listen-fd=3", "-filter-fd=4", "-homes-fd=5", fmt.Sprintf("-homes=%d", len(homes)))
	cmd.ExtraFiles = append([]*os.File{listener, filter}, homes...)
	cmd.Env = append(os.Environ(), playEnv+"=1")
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	t.Cleanup(func() { closeAll(cmd.ExtraFiles) })
	return cmd, stderr
}

// startBornIn starts the command from a thread that is in the group and may gain no
// privileges, both of which its child inherits.
func startBornIn(group cgroup.Group, cmd *exec.Cmd) error {
	births, err := group.BirthFiles()
	if err != nil {
		return err
	}
	defer closeAll(births)
	done := make(chan error)
	go offMainThread(func() {
		err := join(births)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		}
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	})
	return <-done
}

// start starts a shell line in a cgroup of its own.
func (i *realInit) start(ctx context.Context, line string, change ...func(*initd.StartRequest)) (*initd.Output, initd.StartRequest, error) {
	req := initd.StartRequest{
		ID: i.next(), Argv: []string{"/bin/sh", "-c", line}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/",
		UID: testUser, GID: testUser, OutputLimit: 64 << 20,
	}
	for _, c := range change {
		c(&req)
	}
	leaf, err := i.group.TakeLeaf(req.ID)
	if err != nil {
		return nil, req, err
	}
	if err := leaf.Name(); err != nil {
		return nil, req, err
	}
	files, err := leaf.Files()
	if err != nil {
		return nil, req, err
	}
	defer closeAll(files)
	out, _, err := i.Start(ctx, req, files)
	return out, req, err
}

// read reads the output to its end, acknowledging it all, and closes it.
func read(out *initd.Output) (text [initd.Streams]string, exit *initd.Exit, err error) {
	defer out.Close()
	return readOn(out)
}

// readOn reads to the end like read, but leaves the output open for its caller.
func readOn(out *initd.Output) (text [initd.Streams]string, exit *initd.Exit, err error) {
	var all [initd.Streams]strings.Builder
	for {
		chunk, exit, err := out.Next()
		if exit != nil || err != nil {
			for s := range text {
				text[s] = all[s].String()
			}
			return text, exit, err
		}
		all[chunk.Stream-1].Write(chunk.Data)
		if err := out.Ack(chunk.Seq); err != nil {
			return text, nil, err
		}
	}
}

// run runs a shell line, on the connection of one before it if that is free.
func (i *realInit) run(ctx context.Context, line string, change ...func(*initd.StartRequest)) (string, *initd.Exit, error) {
	out, req, err := i.start(ctx, line, change...)
	if err != nil {
		return "", nil, err
	}
	defer out.Close()
	text, exit, err := readOn(out)
	return text[0], exit, errors.Join(err, out.Forget(ctx, req.ID))
}

func TestProcesses(t *testing.T) {
	i := startInit(t)
	tests := []struct {
		name, line string
		change     func(*initd.StartRequest)
		stdout     string
		code       int
		signal     syscall.Signal
	}{
		{name: "output", line: "echo hi", stdout: "hi\n"},
		{name: "exit code", line: "exit 7", code: 7},
		{name: "a signal", line: "kill -TERM $$", code: -1, signal: syscall.SIGTERM},
		{name: "a session of its own", line: "ps -o sid= -p $$ | tr -d ' \n'; echo -$$", stdout: "SAME"},
		{name: "the user asked for", line: "id -u; id -g; id -G", stdout: strings.Repeat(strconv.Itoa(testUser)+"\n", 3)},
		{name: "no capability", line: "grep ^Cap /proc/self/status | cut -f2 | sort -u", stdout: "0000000000000000\n"},
		{name: "no descriptor of init's", line: `python3 -c 'import os; print(os.listdir("/proc/self/fd"))'`, stdout: "['0', '1', '2', '3']\n"}, // 3 is the directory,
		{name: "no signal ignored or blocked", line: "grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2 | sort -u", stdout: "0000000000000000\n"},
		{name: "stdout can be opened again", line: "echo again > /dev/stdout", stdout: "again\n"},
		{name: "stdout is blocking", line: `python3 -c 'import os; print(os.get_blocking(1))'`, stdout: "True\n"},
		{name: "descriptor 3", line: "echo result >&3", change: func(r *initd.StartRequest) { r.HasControl, r.ControlLimit = true, 100 }},
		{name: "the working directory", line: "pwd", change: func(r *initd.StartRequest) { r.Dir = "/usr" }, stdout: "/usr\n"},
		{name: "an empty environment", line: "echo [$HOME]", change: func(r *initd.StartRequest) { r.Env = nil }, stdout: "[]\n"},
		{name: "a limit in a character", line: `printf 'a\303\251b'`, change: func(r *initd.StartRequest) { r.OutputLimit = 2 }, stdout: "a"},
		{name: "no output wanted", line: "echo hi", change: func(r *initd.StartRequest) { r.OutputLimit = 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.change == nil {
				tt.change = func(*initd.StartRequest) {}
			}
			out, req, err := i.start(t.Context(), tt.line, tt.change)
			if err != nil {
				t.Fatal(err)
			}
			text, exit, err := read(out)
			if err != nil {
				t.Fatal(err)
			}
			if sid, pid, ok := strings.Cut(strings.TrimSpace(text[0]), "-"); tt.stdout == "SAME" && ok && sid == pid {
				text[0] = "SAME"
			}
			if text[0] != tt.stdout || text[1] != "" || exit.Code != tt.code || exit.Signal != int(tt.signal) {
				t.Errorf("stdout %q, stderr %q, %+v; want %q, code %d, signal %d", text[0], text[1], exit, tt.stdout, tt.code, tt.signal)
			}
			if req.HasControl && text[2] != "result\n" {
				t.Errorf("descriptor 3 gave %q", text[2])
			}
		})
	}
}

func TestProcessesAreBornInTheirCgroup(t *testing.T) {
	i := startInit(t)
	out, req, err := i.start(t.Context(), "cat /proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := read(out)
	if err != nil {
		t.Fatal(err)
	}
	for controller, want := range map[string]string{
		"memory": "/sandbox/runs/" + req.ID, "cpuacct": "/sandbox/runs/" + req.ID, "freezer": "/sandbox/runs/" + req.ID,
		"pids": "/sandbox/runs", "cpu": "/sandbox/runs",
	} {
		found := false
		for line := range strings.Lines(text[0]) {
			fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
			found = found || strings.Contains(","+fields[1]+",", ","+controller+",") && strings.HasSuffix(fields[2], want)
		}
		if !found {
			t.Errorf("it is not in %s of %s:\n%s", want, controller, text[0])
		}
	}
}

func TestStartsThatFail(t *testing.T) {
	i := startInit(t)
	tests := []struct {
		name   string
		change func(*initd.StartRequest)
		want   string
	}{
		{"no such command", func(r *initd.StartRequest) { r.Argv = []string{"/nowhere"} }, initd.ReasonNoCommand},
		{"no such command in PATH", func(r *initd.StartRequest) { r.Argv = []string{"nowhere"} }, initd.ReasonNoCommand},
		{"not executable", func(r *initd.StartRequest) { r.Argv = []string{"/etc/passwd"} }, initd.ReasonNoCommand},
		{"a directory", func(r *initd.StartRequest) { r.Argv = []string{"/usr"} }, initd.ReasonNoCommand},
		{"no such working directory", func(r *initd.StartRequest) { r.Dir = "/nowhere" }, initd.ReasonNoDir},
		{"a working directory that is a file", func(r *initd.StartRequest) { r.Dir = "/etc/passwd" }, initd.ReasonNoDir},
		{"an environment too large", func(r *initd.StartRequest) { r.Env = []string{"A=" + strings.Repeat("x", 256<<10)} }, initd.ReasonFork},
		{"a null byte", func(r *initd.StartRequest) { r.Argv = append(r.Argv, "a\x00b") }, initd.ReasonFork},
		{"root", func(r *initd.StartRequest) { r.UID = 0 }, initd.ReasonBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, _, err := i.start(t.Context(), "true", tt.change)
			if err == nil {
				out.Close()
			}
			failure := new(initd.Failure)
			if !errors.As(err, &failure) || failure.Reason != tt.want {
				t.Errorf("got %v, want the reason %s", err, tt.want)
			}
		})
	}
	if text, _, err := i.run(t.Context(), "echo works on"); text != "works on\n" || err != nil {
		t.Errorf("after that: %q, %v", text, err)
	}
}

func TestForgetAndSignal(t *testing.T) {
	i := startInit(t)
	out, req, err := i.start(t.Context(), "echo $$; sleep 100 & wait")
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := out.Next()
	if err != nil {
		t.Fatal(err)
	}
	group := strings.TrimSpace(string(first.Data))
	reason := func(err error) string {
		failure := new(initd.Failure)
		errors.As(err, &failure)
		return failure.Reason
	}
	if err := i.Forget(t.Context(), req.ID); reason(err) != initd.ReasonBadRequest {
		t.Errorf("forgetting what runs gave %v", err)
	}
	if _, _, err := i.start(t.Context(), "true", func(r *initd.StartRequest) { r.ID = req.ID }); err == nil {
		t.Error("the same id was taken twice")
	}
	if err := i.Signal(t.Context(), req.ID, 0); err != nil { // is it there?
		t.Error(err)
	}
	if err := i.Signal(t.Context(), req.ID, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_, exit, err := read(out)
	if err != nil || exit.Signal != int(syscall.SIGTERM) {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
	// Its group got the signal with it.
	gone := "timeout 10 sh -c 'while pgrep -g " + group + "; do sleep 0.01; done' >/dev/null"
	if _, exit, err := i.run(t.Context(), gone); exit.Code != 0 || err != nil {
		t.Errorf("waiting for its group to be gone ended with %+v, %v", exit, err)
	}
	if err := i.Signal(t.Context(), req.ID, syscall.SIGTERM); reason(err) != initd.ReasonNotFound {
		t.Errorf("signalling what has ended gave %v", err)
	}
	if err := i.Forget(t.Context(), req.ID); err != nil {
		t.Error(err)
	}
	if err := i.Forget(t.Context(), req.ID); reason(err) != initd.ReasonNotFound {
		t.Errorf("forgetting twice gave %v", err)
	}
}

// TestOutputGoesOnAfterADetach restarts the host, as init sees it.
func TestOutputGoesOnAfterADetach(t *testing.T) {
	i := startInit(t)
	const lines = 200_000
	out, req, err := i.start(t.Context(), fmt.Sprintf("seq %d", lines))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var kept uint64
	for n := 0; ; n++ {
		chunk, exit, err := out.Next()
		if err != nil {
			t.Fatal(err)
		}
		if exit != nil {
			break
		}
		text.Write(chunk.Data)
		kept = chunk.Seq
		if n%2 == 0 { // acknowledging is optional for chunks that the host keeps
			if err := out.Ack(kept); err != nil {
				t.Fatal(err)
			}
		}
		if n%3 == 2 {
			out.Close()
			if out, err = i.Attach(t.Context(), req.ID, kept); err != nil {
				t.Fatal(err)
			}
		}
	}
	out.Close()
	var want strings.Builder
	for n := range lines {
		fmt.Fprintln(&want, n+1)
	}
	if text.String() != want.String() {
		t.Errorf("output was lost or doubled: %d bytes of %d", text.Len(), want.Len())
	}
}

// TestOutputThatNobodyReads must neither be lost nor grow init.
func TestOutputThatNobodyReads(t *testing.T) {
	i := startInit(t)
	const size = 16 << 20
	out, req, err := i.start(t.Context(), fmt.Sprintf("head -c %d /dev/zero; echo end >&2", size))
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	time.Sleep(300 * time.Millisecond)
	if resident := memory(t, i.pid); resident > 64<<20 {
		t.Errorf("init holds %d bytes for a process that nobody reads", resident)
	}
	if out, err = i.Attach(t.Context(), req.ID, 0); err != nil {
		t.Fatal(err)
	}
	text, exit, err := read(out)
	if err != nil || len(text[0]) != size || text[1] != "end\n" || exit.Bytes[0] != size {
		t.Errorf("%d bytes of %d came, %q, %+v, %v", len(text[0]), size, text[1], exit, err)
	}
}

func memory(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

func TestManyProcessesLeaveNothingBehind(t *testing.T) {
	i := startInit(t)
	ctx := t.Context()
	storm := func() {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(30)
		for n := range 200 {
			group.Go(func() error {
				// An orphan each, and one process in ten that cannot be started.
				text, exit, err := i.run(ctx, fmt.Sprintf("(sleep 0.01 &) ; echo %d; exit %d", n, n%100), func(r *initd.StartRequest) {
					if n%10 == 0 {
						r.Argv[0] = "/nowhere"
					}
				})
				failure := new(initd.Failure)
				if n%10 == 0 && errors.As(err, &failure) && failure.Reason == initd.ReasonNoCommand {
					return nil
				}
				if err != nil || text != fmt.Sprintln(n) || exit.Code != n%100 {
					return fmt.Errorf("process %d gave %q, %+v: %w", n, text, exit, err)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	storm()
	before := descriptors(t, i.pid)
	storm()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		after, left := descriptors(t, i.pid), children(t, i.pid)
		if after <= before && left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("init had %d descriptors and has %d; its children are %q", before, after, left)
		}
	}
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children returns the processes, zombies included, that any thread has for children.
func children(t *testing.T, pid int) string {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("init has no threads: %v", err)
	}
	var all strings.Builder
	for _, file := range files {
		data, _ := os.ReadFile(file) // a thread may have ended
		all.Write(data)
	}
	return all.String()
}

// TestDescriptorsOfARunningProcess bounds the descriptors that each run costs init, so that many runs of a sandbox do
// not exhaust them.
func TestDescriptorsOfARunningProcess(t *testing.T) {
	i := startInit(t)
	before := descriptors(t, i.pid)
	out, _, err := i.start(t.Context(), "echo on; sleep 100")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, _, err := out.Next(); err != nil {
		t.Fatal(err)
	}
	// Its connection, and the pipes of stdout and stderr.
	if more := descriptors(t, i.pid) - before; more > 3 {
		t.Errorf("a running process takes %d of init's descriptors", more)
	}
}

// TestInitIsChargedForItself looks at where the main thread is, which the kernel
// charges the memory of the whole process to.
func TestInitIsChargedForItself(t *testing.T) {
	i := startInit(t)
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", i.pid))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "/sandbox/runs") || !strings.Contains(string(data), "/sandbox\n") {
		t.Errorf("init is in the cgroups of runs:\n%s", data)
	}
}
