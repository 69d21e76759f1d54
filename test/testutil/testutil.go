// Package testutil gives tests the real parts of Yurt: built binaries, and executors on state
// directories of their own. The processes that it starts are gone when the test ends, and the test
// fails if they are not.
package testutil

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/plugins/host"
)

// Binaries is where the built programs are.
type Binaries struct {
	Dir        string
	Init       string
	Launcher   string
	Unpacker   string
	Files      string
	PluginDir  string
	ExampleDir string // of language runtimes that do not ship
	Yurt       string
}

// NeedsSandboxes skips the test in short mode, the quick inner loop, and fails it
// where sandboxes cannot be made at all.
func NeedsSandboxes(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("makes real sandboxes; run without -short")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test makes sandboxes and needs root")
	}
}

// completeEnv is set on a machine whose kernel has all that tests are about, as that of the
// virtual machine has.
const completeEnv = "YURT_TEST_COMPLETE"

// Lacks reports that the kernel lacks the feature that the test is about, so that the test proves
// less. It fails the test on a machine that is to have all features.
func Lacks(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(completeEnv) != "" {
		t.Fatalf("this machine lacks %s", what)
	}
	t.Logf("this machine lacks %s; test/vm has a virtual one that does not", what)
}

// Root returns the directory of the module.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("the source of the tests is not known")
	}
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// builtEnv names a directory of programs that [Build] made earlier, for tests that
// run on a machine which cannot build.
const builtEnv = "YURT_TEST_BIN"

// built has a func() error for each set of programs that this process builds: the first test that asks for them builds
// them, and the others wait for it. A check whether programs are up to date takes longer than many a test.
//
//nolint:gochecknoglobals // a process builds each program once, however many tests ask for it
var built sync.Map

func once(programs string, build func() error) error {
	do, _ := built.LoadOrStore(programs, sync.OnceValue(build))
	return do.(func() error)()
}

// Build builds the programs, once a process. Test packages that run at the same time share the result.
func Build(t testing.TB) Binaries {
	t.Helper()
	if dir := os.Getenv(builtEnv); dir != "" {
		return binariesIn(dir)
	}
	root := Root(t)
	b := binariesIn(filepath.Join(root, "bin", "test"))
	if err := once("", func() error { return buildAll(root, b) }); err != nil {
		t.Fatal(err)
	}
	return b
}

func binariesIn(dir string) Binaries {
	return Binaries{
		Dir: dir, Init: filepath.Join(dir, "yurt-init"), Launcher: filepath.Join(dir, "yurt-launcher"), Unpacker: filepath.Join(dir, "yurt-unpack"), Files: filepath.Join(dir, "yurt-files"),
		PluginDir: filepath.Join(dir, "plugins"), ExampleDir: filepath.Join(dir, "examples"), Yurt: filepath.Join(dir, "yurt"),
	}
}

func buildAll(root string, b Binaries) error {
	for _, dir := range []string{b.PluginDir, b.ExampleDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	unlock, err := lockBuilds(b)
	if err != nil {
		return err
	}
	defer unlock()
	builds := []struct {
		out, pkg, cgo, linking string
	}{
		{b.Init, "./cmd/yurt-init", "0", ""},
		{b.Launcher, "./cmd/yurt-launcher", "1", " -linkmode external -extldflags '-static -Wl,-z,max-page-size=0x200000'"},
		{b.Unpacker, "./cmd/yurt-unpack", "0", ""},
		{b.Files, "./cmd/yurt-files", "0", ""},
		{b.PluginDir + "/", "./cmd/yurt-runtime-...", "0", ""},
		{b.ExampleDir + "/", "./plugins/examples/...", "0", ""},
	}
	for _, build := range builds {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w"+build.linking, "-tags", "seccomp,netgo,osusergo,runc_nocriu", "-o", build.out, build.pkg)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+build.cgo)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", build.pkg, err, out)
		}
	}
	if out, err := exec.Command(filepath.Join(root, "scripts", "describe"), b.PluginDir).CombinedOutput(); err != nil {
		return fmt.Errorf("describing the runtimes: %w\n%s", err, out)
	}
	return nil
}

// lockBuilds keeps the tests of other packages from building at the same time: a program that
// is there and up to date stays, and is not replaced under one that runs.
func lockBuilds(b Binaries) (unlock func(), err error) {
	lock, err := os.OpenFile(filepath.Join(b.Dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for another build: %w", err), lock.Close())
	}
	return func() { lock.Close() }, nil
}

// BuildYurt builds the command beside the programs of [Build], under a name and as a version of its own, once a process, and returns
// its path. Tests that run side by side give one name one version. Each name costs its first user seconds: most tests take
// "yurt" of version "test".
func BuildYurt(t testing.TB, name, version string) string {
	t.Helper()
	b, root := Build(t), Root(t)
	path := filepath.Join(b.Dir, name)
	err := once(name, func() error {
		unlock, err := lockBuilds(b)
		if err != nil {
			return err
		}
		defer unlock()
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", path, "./cmd/yurt")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building yurt: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Logger logs to the test.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// Config is that of an executor on a new state directory.
func Config(t testing.TB, b Binaries) executor.Config {
	t.Helper()
	return executor.Config{
		StateDir: t.TempDir(), NodeName: "test", InitPath: b.Init, LauncherPath: b.Launcher, UnpackerPath: b.Unpacker, FilesPath: b.Files,
		PluginDir: b.PluginDir, Tasks: true, Logger: Logger(t),
		RuntimeStart: Moment(t, host.DefaultStartTimeout), RuntimeCall: Moment(t, host.DefaultCallTimeout),
		All: budget.Bounds{Overcommit: budget.MaxOvercommit}, // crowds of sandboxes that use little
	}
}

// Executor starts an executor, and at the end of the test destroys all that it made.
// Its sandboxes also end when the test's process dies before that.
func Executor(t testing.TB) *executor.Executor {
	t.Helper()
	NeedsSandboxes(t)
	config := Config(t, Build(t))
	config.Transient = true
	return Start(t, config)
}

// Start starts an executor with the configuration.
func Start(t testing.TB, config executor.Config) *executor.Executor {
	t.Helper()
	NeedsSandboxes(t)
	e, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context is done by now.
		if err := e.DestroyAll(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("destroying the test's sandboxes: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Errorf("closing the executor: %v", err)
		}
		CheckNothingLeft(t, config.StateDir)
	})
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// Open starts an executor that the test closes itself: another one is to follow it on the
// same state directory.
func Open(t testing.TB, config executor.Config) *executor.Executor {
	t.Helper()
	e, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(errors.Join(err, e.Close()))
	}
	return e
}

// CheckNothingLeft fails the test if the executor on the state directory left a
// cgroup, a mount, a sandbox's files or its runtime directory behind. A process it left would be in one of
// its cgroups, which would still be there.
func CheckNothingLeft(t testing.TB, stateDir string) {
	t.Helper()
	for _, pattern := range []string{
		"/sys/fs/cgroup/" + statedir.CgroupName(stateDir), "/sys/fs/cgroup/*/" + statedir.CgroupName(stateDir),
		"/sys/fs/cgroup/sbx_*", "/sys/fs/cgroup/*/sbx_*", // where libcontainer would put them
		filepath.Join(stateDir, "sandboxes", "*"), statedir.RunDir("", stateDir),
	} {
		left, err := filepath.Glob(pattern)
		left = slices.DeleteFunc(left, ofAnotherExecutor(stateDir))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), stateDir) {
		t.Errorf("a mount was left behind below %s: %v", stateDir, err)
	}
}

// ofAnotherExecutor tells the cgroups of sandboxes of other executors, which on cgroup v2 are as deep as those that libcontainer
// would make.
func ofAnotherExecutor(stateDir string) func(path string) bool {
	return func(path string) bool {
		parent := filepath.Base(filepath.Dir(path))
		return strings.HasPrefix(parent, "yurt-") && parent != statedir.CgroupName(stateDir)
	}
}

// Template is a plain template that runs commands and Python.
func Template() yurt.Template {
	return yurt.Template{
		Name: "test", RootFS: yurt.RootFS{HostPaths: yurt.DefaultHostPaths()}, Runtimes: []string{"python"},
		Resources: yurt.DefaultResources(), Session: yurt.DefaultSessionLimits(),
		Isolation: yurt.Isolation{Level: yurt.IsolationNamespaces}, Network: yurt.Network{Mode: yurt.NetworkNone},
	}
}

// Spec is a sandbox of [Template].
func Spec() yurt.SandboxSpec {
	return yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: Template(), Resources: yurt.DefaultResources()}
}

// Kill kills a process that the test's own executor started.
func Kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("killing process %d: %v", pid, err)
	}
}

// slownessEnv says how many times slower than usual this machine is, being emulated.
const slownessEnv = "YURT_TEST_SLOWNESS"

// Moment returns d, or more on a slow machine. It is for the time that a test grants to processes
// that it has started, never for a time that it asserts.
func Moment(t testing.TB, d time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(slownessEnv)
	if text == "" {
		return d
	}
	times, err := strconv.Atoi(text)
	if err != nil || times < 1 {
		t.Fatalf("%s is %q, want a positive number", slownessEnv, text)
	}
	return d * time.Duration(times)
}

// Eventually waits until the condition holds, and fails the test if it does not.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not so within a minute: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
