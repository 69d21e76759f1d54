package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good"))
	got, err := h.Plan(t.Context(), plugins.PlanRequest{
		ExecutionID: "exe_1", Kind: yurt.KindCode, Language: "good", Code: "print(1)", Handler: "h", Event: []byte("{}"),
		Context: []byte("[]"), Dir: "/run/x", Timeout: yurt.Duration(3 * time.Second), MemoryLimit: 64 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := plugins.Plan{
		Argv:   []string{"/bin/echo", "exe_1", "good", "{}", "[]", "h", "3s", "64Mi"},
		Files:  []plugins.File{{Path: "code", Data: []byte("print(1)"), Mode: 0o640}},
		Env:    map[string]string{"DIR": "/run/x"},
		Result: plugins.ResultEnvelope,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLanguages checks which runtime is taken for a language.
func TestLanguages(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good", "better"))
	for _, language := range []string{"good", "alias-good", "GOOD", " better ", "alias-better"} {
		plan := mustPlan(t, h, language, "pid")
		name := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(language)), "alias-")
		if again := mustPlan(t, h, name, "pid"); again.Argv[0] != plan.Argv[0] {
			t.Errorf("%q is served by process %s, %q by %s", language, plan.Argv[0], name, again.Argv[0])
		}
	}
	if info, err := h.RuntimeOf(t.Context(), "alias-good"); err != nil || info.Name != "good" {
		t.Errorf("runtime of alias-good: %+v, %v", info, err)
	}
	_, err := h.RuntimeOf(t.Context(), "cobol")
	wantError(t, err, yurt.CodeLanguageNotSupported, `"cobol"`)
	_, err = h.Plan(t.Context(), request("cobol", ""))
	wantError(t, err, yurt.CodeLanguageNotSupported, `"cobol"`, "alias-better, alias-good, better, good")
	_, err = h.Plan(t.Context(), request("bad\x1b[31m"+strings.Repeat("x", 5000), ""))
	wantError(t, err, yurt.CodeLanguageNotSupported)
	req := request("good", "")
	req.Kind = yurt.KindHandler
	_, err = h.Plan(t.Context(), req)
	wantError(t, err, yurt.CodeNotSupported, "handler", "code")
}

func TestRuntimes(t *testing.T) {
	t.Parallel()
	dir := pluginDir(t, "good", "better")
	if err := os.WriteFile(filepath.Join(dir, "README"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, dir)
	if broken := h.Broken(); len(broken) != 0 {
		t.Errorf("broken before anything was started: %v", broken)
	}
	got, err := h.Runtimes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []yurt.RuntimeInfo{
		{Name: "better", Version: "1.2.3", Languages: []string{"better", "alias-better"}, Extensions: []string{".better"}, Abilities: []string{"code"}},
		{Name: "good", Version: "1.2.3", Languages: []string{"good", "alias-good"}, Extensions: []string{".good"}, Abilities: []string{"code"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBrokenRuntimes puts one broken runtime beside a good one.
func TestBrokenRuntimes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code  yurt.Code
		parts []string
	}{
		"crash":    {yurt.CodeRuntimeUnavailable, []string{"exited with code 3", "cannot find\ufffd[31m my libraries"}},
		"quit":     {yurt.CodeRuntimeIncompatible, []string{"is not a runtime", "version 1"}},
		"killed":   {yurt.CodeRuntimeUnavailable, []string{"was killed by signal"}},
		"garbage":  {yurt.CodeRuntimeIncompatible, []string{"is not a runtime", `"Hello, world!"`, "version 1"}},
		"flood":    {yurt.CodeRuntimeIncompatible, []string{"is not a runtime"}},
		"hang":     {yurt.CodeRuntimeUnavailable, []string{"had not finished starting after 2s and was killed"}},
		"deaf":     {yurt.CodeRuntimeUnavailable, []string{"had not finished starting after 2s and was killed"}},
		"mute":     {yurt.CodeRuntimeUnavailable, []string{"had not finished starting after 2s and was killed"}},
		"netrpc":   {yurt.CodeRuntimeIncompatible, []string{"does not speak gRPC"}},
		"core":     {yurt.CodeRuntimeIncompatible, []string{"version 2 of the plugin handshake", "uses 1"}},
		"future":   {yurt.CodeRuntimeIncompatible, []string{"speaks version 7", "speaks version 1"}},
		"empty":    {yurt.CodeRuntimeIncompatible, []string{"does not answer the calls"}},
		"nameless": {yurt.CodeRuntimeIncompatible, []string{"describes itself badly"}},
		"sorry":    {yurt.CodeRuntimeUnavailable, []string{"license expired"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, pluginDir(t, name, "zgood"), WithStartTimeout(startTimeout(tt.parts)))
			checkBroken(t, h, name, tt.code, tt.parts)
		})
	}
}

// startTimeout is short where the test waits for it, and else long enough for a
// busy machine.
func startTimeout(parts []string) time.Duration {
	if strings.Contains(parts[0], "after 2s") {
		return 2 * time.Second
	}
	return 20 * time.Second
}

// TestBrokenFiles is TestBrokenRuntimes for files that cannot be started at all.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		mode    fs.FileMode
		code    yurt.Code
		parts   []string
	}{
		"text":           {"just text", 0o755, yurt.CodeRuntimeIncompatible, []string{"not a program", "exec format error"}},
		"no-interpreter": {"#!/no/such/program\n", 0o755, yurt.CodeRuntimeIncompatible, []string{"not a program"}},
		"script":         {"#!/bin/sh\necho oops >&2\nexit 4\n", 0o755, yurt.CodeRuntimeUnavailable, []string{"exited with code 4", "oops"}},
		"not-executable": {"#!/bin/sh\n", 0o644, yurt.CodeRuntimeUnavailable, []string{"chmod +x"}},
		"world-writable": {"#!/bin/sh\n", 0o757, yurt.CodeRuntimeUnavailable, []string{"writable by every user", "chmod o-w"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := pluginDir(t, "zgood")
			path := filepath.Join(dir, plugins.BinaryPrefix+name)
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil { // under any umask
				t.Fatal(err)
			}
			checkBroken(t, newHost(t, dir), name, tt.code, tt.parts)
		})
	}
}

func checkBroken(t *testing.T, h *Host, name string, code yurt.Code, parts []string) {
	t.Helper()
	_, err := h.Plan(t.Context(), request(name, ""))
	wantError(t, err, code, parts...)
	mustPlan(t, h, "alias-zgood", "ok")
	got, err := h.Runtimes(t.Context())
	if err != nil || len(got) != 1 || got[0].Name != "zgood" {
		t.Errorf("runtimes %+v, %v; want zgood alone", got, err)
	}
	broken := h.Broken()
	if !slices.Equal(keys(broken), []string{name}) {
		t.Fatalf("broken: %v, want %s alone", broken, name)
	}
	wantError(t, broken[name], code)
}

// TestHangingRuntimeDelaysOnce has a runtime that hangs when it is started: only its own callers
// wait each time.
func TestHangingRuntimeDelaysOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "hang", "zgood"), WithStartTimeout(3*time.Second))
	start := time.Now()
	mustPlan(t, h, "zgood", "ok")
	if _, err := h.Plan(t.Context(), request("hang", "")); err == nil {
		t.Fatal("no error")
	}
	if took := time.Since(start); took < 3*time.Second {
		t.Fatalf("the start was cut off after %s", took)
	}
	start = time.Now()
	if list, err := h.Runtimes(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("runtimes %v, %v", list, err)
	}
	mustPlan(t, h, "alias-zgood", "ok")
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the others were kept waiting for %s", took)
	}
}

func TestCrashInCall(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good"))
	_, err := h.Plan(t.Context(), request("good", "crash"))
	wantError(t, err, yurt.CodeRuntimeUnavailable, "exited with code 3", "dying words")
	if len(h.Broken()) != 1 {
		t.Errorf("broken: %v", h.Broken())
	}
	mustPlan(t, h, "good", "ok")
	if len(h.Broken()) != 0 {
		t.Errorf("still broken: %v", h.Broken())
	}
}

func TestHangInCall(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good"), WithCallTimeout(time.Second))
	pid := mustPlan(t, h, "good", "pid").Argv[0]
	_, err := h.Plan(t.Context(), request("good", "hang"))
	wantError(t, err, yurt.CodeRuntimeUnavailable, "did not answer within 1s and was killed")
	wantGone(t, pid)
	mustPlan(t, h, "good", "ok")
}

// TestImpatientCaller leaves before the call timeout. The hang is found out anyway.
func TestImpatientCaller(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good"), WithCallTimeout(time.Second))
	pid := mustPlan(t, h, "good", "pid").Argv[0]
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := h.Plan(ctx, request("good", "hang"))
	wantError(t, err, yurt.CodeDeadlineExceeded)
	wantGone(t, pid)

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Plan(canceled, request("good", "ok"))
	wantError(t, err, yurt.CodeCanceled)
}

// TestCallErrors checks errors that leave the runtime alive.
func TestCallErrors(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good", "hostile"))
	pid := mustPlan(t, h, "good", "pid").Argv[0]

	_, err := h.Plan(t.Context(), request("good", "refuse tabs"))
	wantError(t, err, yurt.CodeInvalidArgument, "code: no tabs please")
	_, err = h.Plan(t.Context(), request("good", "fail"))
	wantError(t, err, yurt.CodeInternal, "disk on fire")
	_, err = h.Plan(t.Context(), request("good", "panic"))
	wantError(t, err, yurt.CodeInternal, "panicked", "oh no")
	_, err = h.Plan(t.Context(), request("good", "bad"))
	wantError(t, err, yurt.CodeInternal, "argv is empty")
	mustPlan(t, h, "good", "print")
	if len(h.Broken()) != 0 {
		t.Errorf("broken: %v", h.Broken())
	}

	req := request("good", "ok")
	req.Handler = "\xff"
	_, err = h.Plan(t.Context(), req)
	wantError(t, err, yurt.CodeInvalidArgument, "handler")
	_, err = h.Plan(t.Context(), request("good", strings.Repeat("x", yurt.MaxCodeBytes+1)))
	wantError(t, err, yurt.CodeBodyTooLarge, "code has 4194305 bytes; at most 4194304 are allowed")

	_, err = h.Plan(t.Context(), request("hostile", ""))
	wantError(t, err, yurt.CodeRuntimeIncompatible, "breaks the protocol", "../../etc/cron.d/x")
	_, err = h.Plan(t.Context(), request("hostile", "huge"))
	wantError(t, err, yurt.CodeRuntimeIncompatible, "too large")
	_, err = h.Plan(t.Context(), request("hostile", "binary"))
	wantError(t, err, yurt.CodeRuntimeIncompatible, "cannot be read")
	if again := mustPlan(t, h, "good", "pid").Argv[0]; again != pid {
		t.Errorf("the runtime was started again: process %s, then %s", pid, again)
	}
}

// TestLargestMessages sends the largest request and gets the largest plan.
func TestLargestMessages(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good"), WithCallTimeout(30*time.Second))
	req := request("good", "large "+strings.Repeat("x", yurt.MaxCodeBytes-6))
	req.Event = bytes.Repeat([]byte("1"), yurt.MaxEventBytes)
	if testing.Short() { // with the detector of races the runtime needs several times its memory, which is bounded
		req.Code, req.Event = "large", nil
	}
	plan, err := h.Plan(t.Context(), req)
	if err != nil || len(plan.Files[0].Data) != plugins.MaxPlanBytes {
		t.Errorf("got %d files, %v", len(plan.Files), err)
	}
}

func TestRestartLimit(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newHost(t, pluginDir(t, "good"), WithRestartLimit(2, 10*time.Second), func(o *options) { o.now = func() time.Time { return now } })
	for range 2 {
		_, err := h.Plan(t.Context(), request("good", "crash"))
		wantError(t, err, yurt.CodeRuntimeUnavailable, "exited with code 3")
	}
	_, err := h.Plan(t.Context(), request("good", "ok"))
	wantError(t, err, yurt.CodeRuntimeUnavailable, "failed too often", "in 10s", "exited with code 3")
	now = now.Add(10 * time.Second)
	mustPlan(t, h, "good", "ok")
}

func TestEnvironment(t *testing.T) {
	t.Setenv("YURT_TEST_SECRET", "hunter2")
	h := newHost(t, pluginDir(t, "good"))
	for _, entry := range mustPlan(t, h, "good", "env").Argv[1:] {
		name, _, _ := strings.Cut(entry, "=")
		if name != "PATH" && name != "LANG" && name != protocol.LogLevelEnv && name != "GOMEMLIMIT" && name != protocol.Handshake().MagicCookieKey && !strings.HasPrefix(name, "PLUGIN_") {
			t.Errorf("the runtime sees %s", entry)
		}
	}
}

// TestDescendants has the runtime leave a child that keeps its pipes open.
func TestDescendants(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good"))
	child := mustPlan(t, h, "good", "child").Argv[0]
	start := time.Now()
	h.Close()
	wantGone(t, child)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("closing took %s", took)
	}
	_, err := h.Plan(t.Context(), request("good", "ok"))
	wantError(t, err, yurt.CodeUnavailable)
	h.Close()
}

// TestCloseWhileStarting must neither wait for the start nor leave the process.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "hang"))
	failed := make(chan error, 1)
	go func() {
		_, err := h.Plan(context.Background(), request("hang", ""))
		failed <- err
	}()
	time.Sleep(100 * time.Millisecond)
	start := time.Now()
	h.Close()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("closing took %s", took)
	}
	if err := <-failed; yurt.CodeOf(err) != yurt.CodeRuntimeUnavailable && yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("error %v", err)
	}
}

// TestRuntimesDieWithHost kills a host outright.
func TestRuntimesDieWithHost(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), hostDirEnv+"="+pluginDir(t, "good"), "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(stdout).ReadString('\n')
	if err := errors.Join(err, cmd.Process.Kill()); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the host was not killed")
	}
	wantGone(t, strings.TrimSpace(pid))
}

// TestConcurrentCalls mixes calls that work with calls that crash the runtime:
// every one must end in a plan or in the one allowed error.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "good", "better", "crash"), WithRestartLimit(1000, time.Millisecond))
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			language, code := "alias-good", "ok "+strconv.Itoa(i)
			if i%3 == 0 {
				language = "better"
			}
			if i%20 == 1 && language != "better" {
				code = "crash"
			}
			plan, err := h.Plan(t.Context(), request(language, code))
			switch {
			case err != nil && yurt.CodeOf(err) != yurt.CodeRuntimeUnavailable:
				t.Errorf("error %v", err)
			case err != nil && language == "better":
				t.Errorf("a runtime was disturbed by another: %v", err)
			case err == nil && string(plan.Files[0].Data) != code:
				t.Errorf("got the plan of %q for %q", plan.Files[0].Data, code)
			}
		})
	}
	wg.Wait()
	mustPlan(t, h, "good", "ok")
}

// TestReplacedBinary changes the plugin directory under a running host.
func TestReplacedBinary(t *testing.T) {
	t.Parallel()
	dir := pluginDir(t)
	h := newHost(t, dir)
	_, err := h.Plan(t.Context(), request("good", "ok"))
	wantError(t, err, yurt.CodeLanguageNotSupported, "no language runtime is installed")

	copyRuntime(t, dir, "good")
	pid := mustPlan(t, h, "good", "pid").Argv[0]
	copyRuntime(t, dir, "good")
	if again := mustPlan(t, h, "good", "pid").Argv[0]; again == pid {
		t.Error("the replaced binary still runs")
	}
	wantGone(t, pid)
	if err := os.Remove(filepath.Join(dir, plugins.BinaryPrefix+"good")); err != nil {
		t.Fatal(err)
	}
	_, err = h.Plan(t.Context(), request("good", "ok"))
	wantError(t, err, yurt.CodeLanguageNotSupported)
}

func copyRuntime(t *testing.T, dir, name string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, plugins.BinaryPrefix+name)
	if err := os.WriteFile(path+".new", data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestUntrustedDirectory refuses directories that others can write to.
func TestUntrustedDirectory(t *testing.T) {
	t.Parallel()
	open := pluginDir(t, "good")
	if err := os.Chmod(open, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	inside := filepath.Join(parent, "plugins")
	if err := errors.Join(os.Mkdir(inside, 0o755), os.Chmod(parent, 0o777)); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		dir   string
		parts []string
	}{
		"writable":        {open, []string{"writable by every user", "chmod o-w"}},
		"parent writable": {inside, []string{"writable by every user", parent}},
		"missing":         {filepath.Join(open, "none"), []string{"does not exist", plugins.BinaryPrefix}},
		"file":            {os.Args[0], []string{"not a directory"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, tt.dir)
			_, err := h.Plan(t.Context(), request("good", "ok"))
			wantError(t, err, yurt.CodeRuntimeUnavailable, tt.parts...)
			_, err = h.Runtimes(t.Context())
			wantError(t, err, yurt.CodeRuntimeUnavailable, tt.parts...)
		})
	}
	if os.Geteuid() == 0 {
		foreign := pluginDir(t, "good")
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		_, err := newHost(t, foreign).Runtimes(t.Context())
		wantError(t, err, yurt.CodeRuntimeUnavailable, "belongs to user 12345")
	}
}

// TestLogs checks that a runtime's log lines keep their level on the way to the host.
func TestLogs(t *testing.T) {
	t.Parallel()
	var logs syncBuffer
	h := newLoggedHost(t, pluginDir(t, "good"), slog.NewTextHandler(&logs, nil))
	mustPlan(t, h, "good", "log")
	h.Close()
	if want := `level=WARN msg="from the runtime" logger=`; !strings.Contains(logs.String(), want) || !strings.Contains(logs.String(), "key=value") {
		t.Errorf("log has no %q:\n%s", want, logs.String())
	}
	if strings.Contains(logs.String(), "level=ERROR") {
		t.Errorf("log has errors:\n%s", logs.String())
	}
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(data)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestByHand runs a runtime as a curious user does.
func TestByHand(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(filepath.Join(pluginDir(t, "good"), plugins.BinaryPrefix+"good")).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "is a language runtime of Yurt") {
		t.Errorf("%v: %s", err, out)
	}
}

// wantGone waits until the process is neither running nor a zombie of ours.
func wantGone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			return
		}
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if errors.Is(err, fs.ErrNotExist) || strings.Contains(string(stat), ") Z ") { // a zombie that init has not reaped yet
			return
		}
	}
	t.Errorf("process %s still runs", pid)
}

func BenchmarkPlan(b *testing.B) {
	h := newHost(b, pluginDir(b, "good"))
	mustPlan(b, h, "good", "ok")
	for b.Loop() {
		mustPlan(b, h, "good", "ok")
	}
}

// BenchmarkStart is the start of a runtime, until it has described itself and answered, and its end.
func BenchmarkStart(b *testing.B) {
	dir := pluginDir(b, "good")
	for b.Loop() {
		h := newHost(b, dir)
		mustPlan(b, h, "good", "ok")
		h.Close()
	}
}
