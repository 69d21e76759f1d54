package child_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/broker/child"
	"github.com/yurtrun/yurt/executor/broker/wire"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// playEnv makes this test program a broker or an executor.
const playEnv = "YURT_TEST_PLAY"

// A part plays on the main thread, see [forgetParent]. Later functions may begin on another one.
func init() { //nolint:gochecknoinits // as above
	if os.Getenv(playEnv) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	part := os.Getenv(playEnv)
	if part == "" {
		os.Exit(m.Run())
	}
	if err := play(part); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(part string) error {
	switch part {
	case "broker":
		return playBroker(os.Getenv("YURT_TEST_PARENT"))
	case "executor":
		return playExecutor()
	case "hostile":
		return playHostile()
	case "waiting":
		return playWaiting()
	case "powerful":
		return sayPower()
	case "taken over":
		return playTakenOver()
	default:
		return errors.New("it has given up")
	}
}

// executor returns the command of a child that plays the part. Its output is this process's standard error where out is nil.
func executor(part string, out io.Writer) func() *exec.Cmd {
	return func() *exec.Cmd {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), playEnv+"="+part)
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		return cmd
	}
}

// playBroker has an executor until it is killed.
func playBroker(parent string) error {
	groups, err := cgroup.Open(parent)
	if err != nil {
		return err
	}
	by := broker.NewLocal(broker.Config{Cgroups: groups, Logger: slog.Default()})
	return (&child.Child{Command: executor("executor", os.Stdout), Broker: by, Logger: slog.Default()}).Run(context.Background())
}

// playExecutor asks for a sandbox that is not there, says its number and the code of the answer, and ends when it is asked to.
func playExecutor() error {
	if err := forgetParent(); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	socket, err := wire.Open(os.NewFile(child.FD, "broker"))
	if err != nil {
		return err
	}
	client := wire.NewClient(socket, nil, child.End)
	defer client.Close()
	fmt.Println(os.Getpid(), yurt.CodeOf(client.Thaw(yurt.NewSandboxID())))
	<-asked
	fmt.Println(os.Getpid(), yurt.CodeOf(client.Thaw(yurt.NewSandboxID())))
	return nil
}

// forgetParent has the kernel forget to end this process with its parent.
func forgetParent() error {
	if unix.Gettid() != unix.Getpid() {
		return errors.New("this is not the main thread")
	}
	return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
}

// playWaiting ends at SIGHUP.
func playWaiting() error {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGHUP)
	fmt.Println("waiting")
	<-told
	fmt.Println("told")
	return nil
}

// sayPower prints the sets of capabilities of this process.
func sayPower() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	fmt.Print(sets(status))
	_, text, _ := strings.Cut(string(status), "NoNewPrivs:\t")
	fmt.Println("NoNewPrivs", text[:1])
	groups, err := os.Getgroups()
	fmt.Printf("user %d, group %d, other groups %v\n", os.Getuid(), os.Getgid(), groups)
	return err
}

// playTakenOver tries to get at files and processes that are not its own, and says how each attempt went. The canary is in /root. An
// attempt that succeeds leaves the host as it was.
func playTakenOver() error {
	canary, broker := os.Getenv("YURT_TEST_CANARY"), strconv.Itoa(os.Getppid())
	place, err := os.MkdirTemp("", "yurt-test-")
	if err != nil {
		return err
	}
	defer os.Remove(place)
	runtime.LockOSThread() // with which a success would end
	for _, attempt := range []struct {
		name string
		err  func() error
	}{
		{"mount the canary", func() error { return mountAndUndo(canary, place, "", unix.MS_BIND) }},
		{"mount a file system", func() error { return mountAndUndo("x", place, "tmpfs", 0) }},
		{"clone a mount", func() error {
			tree, err := unix.OpenTree(unix.AT_FDCWD, canary, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
			if err == nil {
				unix.Close(tree)
			}
			return err
		}},
		{"make a namespace", func() error { return unix.Unshare(unix.CLONE_NEWNS) }},
		{"enter a namespace", func() error { return enter("/proc/" + broker + "/ns/mnt") }},
		{"open by a handle", func() error { return openByHandle(canary) }},
		{"trace the broker", func() error { return unix.PtraceSeize(os.Getppid()) }}, // which does not stop it
		{"write to the broker", func() error {
			memory, err := os.OpenFile("/proc/"+broker+"/mem", os.O_RDWR, 0)
			if err == nil {
				memory.Close()
			}
			return err
		}},
		{"listen at a port of root's", bindLow},
		{"kill the broker", func() error { return unix.Kill(os.Getppid(), 0) }},
		{"make a namespace of users", func() error {
			program := exec.Command("true")
			program.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			return program.Run()
		}},
		{"read its keys", func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false); return err }},
	} {
		fmt.Printf("%s: %v\n", attempt.name, attempt.err())
	}
	return nil
}

func mountAndUndo(source, at, kind string, flags uintptr) error {
	if err := unix.Mount(source, at, kind, flags, ""); err != nil {
		return err
	}
	return unix.Unmount(at, unix.MNT_DETACH)
}

// openByHandle opens a directory as no path leads to it.
func openByHandle(path string) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return err
	}
	root, err := unix.Open("/root", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	file, err := unix.OpenByHandleAt(root, handle, unix.O_RDONLY|unix.O_CLOEXEC)
	if err == nil {
		unix.Close(file)
	}
	return err
}

// bindLow takes a port below 1024 for a moment.
func bindLow() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	return unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 987})
}

func enter(namespace string) error {
	file, err := os.Open(namespace)
	if err != nil {
		return err
	}
	defer file.Close()
	return errors.Join(unix.Unshare(unix.CLONE_FS), unix.Setns(int(file.Fd()), unix.CLONE_NEWNS))
}

// playHostile sends the broker a message of no form.
func playHostile() error {
	fmt.Println("sending") // the broker's answer may be quicker than another line
	if _, err := unix.Write(child.FD, []byte("root, please")); err != nil {
		return err
	}
	select {}
}

// node is the cgroups of a test, with a sandbox in which a program runs.
func node(t *testing.T) (parent string, by *broker.Local, program *exec.Cmd) {
	t.Helper()
	parent = fmt.Sprintf("yurt-test-child-%d-%d", os.Getpid(), time.Now().UnixNano())
	groups, err := cgroup.Open(parent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(groups.RemoveParent)
	by = broker.NewLocal(broker.Config{Cgroups: groups, Logger: slog.New(slog.DiscardHandler)})
	id := yurt.NewSandboxID()
	group, err := groups.Create(id, cgroup.Limits{CPU: 1, Memory: 64 << 20, PIDs: 50})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := by.End(context.WithoutCancel(t.Context()), id); err != nil {
			t.Error(err)
		}
	})
	program = exec.Command("sleep", "600")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	if err := group.Settle(program.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return parent, by, program
}

// nextLife reads the line of an executor that has begun, and returns its number.
func nextLife(t *testing.T, lines *bufio.Reader) int {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	number, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || answer != string(yurt.CodeSandboxNotFound) {
		t.Fatalf("an executor says %q, want its number and %s", line, yurt.CodeSandboxNotFound)
	}
	return pid
}

// run has a child until the test ends, and returns its output.
func run(t *testing.T, by broker.Broker, part string) (lines *bufio.Reader, end context.CancelFunc, ended <-chan error) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		outcome <- (&child.Child{Command: executor(part, write), Broker: by, Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
		write.Close() // a test that waits for another line fails
	}()
	t.Cleanup(func() { cancel(); <-over; read.Close() })
	return bufio.NewReader(read), cancel, outcome
}

// alive tells a process from one that has ended and that no other has waited for.
func alive(pid int) bool {
	_, err := procid.Of(pid)
	return err == nil
}

// TestKilledExecutorIsStartedAgain: with a socket of its own, and the sandboxes go on.
func TestKilledExecutorIsStartedAgain(t *testing.T) {
	_, by, program := node(t)
	lines, _, _ := run(t, by, "executor")
	for range 3 {
		if err := unix.Kill(nextLife(t, lines), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	nextLife(t, lines)
	if !alive(program.Process.Pid) {
		t.Error("the program in the sandbox has ended")
	}
}

// TestExecutorEndsWithTheBroker: and the sandboxes go on. The next broker finds them.
func TestExecutorEndsWithTheBroker(t *testing.T) {
	parent, by, program := node(t)
	killed := exec.Command("/proc/self/exe")
	killed.Env = append(os.Environ(), playEnv+"=broker", "YURT_TEST_PARENT="+parent)
	out, err := killed.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	executor := nextLife(t, lines)
	_ = killed.Process.Kill()
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 { // which ends when both have
		t.Errorf("after the broker's end there is %q, %v", rest, err)
	}
	_ = killed.Wait()
	for begun := time.Now(); alive(executor); time.Sleep(time.Millisecond) { // it closes its files before it is gone
		if time.Since(begun) > 10*time.Second {
			t.Fatal("the executor goes on")
		}
	}
	if !alive(program.Process.Pid) {
		t.Error("the program in the sandbox has ended")
	}
	lines, _, _ = run(t, by, "executor")
	nextLife(t, lines)
}

// TestExecutorIsAskedToEnd: it can ask the broker until it has ended.
func TestExecutorIsAskedToEnd(t *testing.T) {
	_, by, _ := node(t)
	lines, end, ended := run(t, by, "executor")
	first := nextLife(t, lines)
	end()
	if last := nextLife(t, lines); last != first {
		t.Errorf("process %d has the last word, and not %d", last, first)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// TestExecutorHasNoOtherCapabilities: neither it nor a program that it starts gets any beside those of the list. The broker keeps its own.
func TestExecutorHasNoOtherCapabilities(t *testing.T) {
	_, by, _ := node(t)
	before, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	lines, _, ended := run(t, by, "powerful")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	var most uint64
	for _, capability := range child.Capabilities() {
		most |= 1 << capability
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		has, err := strconv.ParseUint(value, 16, 64)
		if err != nil || name != set {
			t.Fatalf("the executor says %q, want %s", line, set)
		}
		if has&^most != 0 || set != "CapInh" && has == 0 {
			t.Errorf("the executor has the set %s %x, of at most %x", set, has, most)
		}
		if has != 0 && strings.Contains(string(before), line) {
			t.Errorf("the broker has the set %q too, which is to be larger", line)
		}
	}
	if line, err := lines.ReadString('\n'); line != "NoNewPrivs 1\n" {
		t.Errorf("the executor says %q, %v", line, err)
	}
	if line, err := lines.ReadString('\n'); line != fmt.Sprintf("user %[1]d, group %[1]d, other groups []\n", idrange.Executor) {
		t.Errorf("the executor says %q, %v", line, err)
	}
	after, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	if sets(before) != sets(after) {
		t.Errorf("the broker had\n%sand has\n%s", sets(before), sets(after))
	}
}

// TestTakenOverExecutorMountsNothing: it reaches neither mounts of the host nor its broker.
func TestTakenOverExecutorMountsNothing(t *testing.T) {
	_, by, _ := node(t)
	canary, err := os.MkdirTemp("/root", "yurt-canary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(canary) })
	t.Setenv("YURT_TEST_CANARY", canary)
	lines, _, ended := run(t, by, "taken over")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for range 12 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(line, unix.EPERM.Error()) && !strings.Contains(line, unix.EACCES.Error()) {
			t.Errorf("it was not refused to %s", line)
		}
	}
}

// sets picks the sets of capabilities out of a status.
func sets(status []byte) string {
	var picked strings.Builder
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "Cap") {
			picked.WriteString(line)
		}
	}
	return picked.String()
}

// TestSignalsArePassedOn: and an executor that was killed in its only life is not started again.
func TestSignalsArePassedOn(t *testing.T) {
	_, by, _ := node(t)
	for signal, want := range map[syscall.Signal]string{syscall.SIGHUP: "waiting\ntold\n", syscall.SIGKILL: "waiting\n"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		signals := make(chan os.Signal)
		ended := make(chan error, 1)
		kept := &child.Child{Command: executor("waiting", write), Broker: by, Signals: signals, Once: true, Logger: slog.New(slog.DiscardHandler)}
		go func() { ended <- kept.Run(t.Context()); write.Close() }()
		lines := bufio.NewReader(read)
		first, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		signals <- signal
		rest, err := io.ReadAll(lines)
		if err != nil || first+string(rest) != want {
			t.Errorf("after %s it has said %q, %v; want %q", signal, first+string(rest), err, want)
		}
		var exit *exec.ExitError
		if err := <-ended; errors.As(err, &exit) != (signal == syscall.SIGKILL) {
			t.Errorf("after %s it ends with %v", signal, err)
		}
		read.Close()
	}
}

// TestExecutorThatGivesUp: it is not started again.
func TestExecutorThatGivesUp(t *testing.T) {
	_, by, _ := node(t)
	_, _, ended := run(t, by, "failing")
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ends with %v, want its own exit code", err)
	}
}

// TestHostileExecutorIsKilled: each time, and it is started again with pauses.
func TestHostileExecutorIsKilled(t *testing.T) {
	_, by, _ := node(t)
	lines, _, _ := run(t, by, "hostile")
	lives := make(chan string, 100)
	go func() {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			lives <- line
		}
	}()
	time.Sleep(3 * time.Second)
	if n := len(lives); n < 2 || n > 5 {
		t.Errorf("it had %d lives in 3 s, want at most 5", n)
	}
}
