package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/internal/linux/power"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
	"github.com/yurtrun/yurt/plugins/proto"
)

// hostDirEnv makes the test binary play a host, see TestRuntimesDieWithHost.
const hostDirEnv = "YURT_TEST_HOST_DIR"

// TestMain lets the test binary play every part: under the name of a runtime it is
// that runtime.
func TestMain(m *testing.M) {
	if name, ok := strings.CutPrefix(filepath.Base(os.Args[0]), plugins.BinaryPrefix); ok {
		os.Exit(play(name))
	}
	if dir := os.Getenv(hostDirEnv); dir != "" {
		playHost(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// play is a runtime whose name says how it behaves. It returns its exit code.
func play(name string) int {
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "crash":
		fmt.Fprintln(os.Stderr, "cannot find\x1b[31m my libraries")
		return 3
	case "killed": // by the filter of system calls, or else by itself
		syscall.RawSyscall(unix.SYS_GETPID|1<<30, 0, 0, 0)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		time.Sleep(time.Second)
	case "quit":
	case "garbage":
		fmt.Println("Hello, world!")
		time.Sleep(time.Hour)
	case "flood":
		_, _ = io.Copy(os.Stdout, zeros{})
	case "hang":
		time.Sleep(time.Hour)
	case "deaf": // a handshake, and then no answers
		listener, err := net.Listen("unix", filepath.Join(os.Getenv(plugin.EnvUnixSocketDir), "s"))
		if err != nil {
			panic(err)
		}
		fmt.Printf("1|1|unix|%s|grpc|\n", listener.Addr())
		time.Sleep(time.Hour)
	case "elsewhere", "linked", "overtcp", "nowhere": // a handshake that names a socket of another's
		if err := os.Symlink("/run/other", "/tmp/link"); err != nil {
			panic(err)
		}
		fmt.Println(map[string]string{
			"elsewhere": "1|1|unix|/run/other|grpc|", "linked": "1|1|unix|/tmp/link|grpc|", "overtcp": "1|1|tcp|127.0.0.1:22|grpc|", "nowhere": "1|1|unix|/tmp/none|grpc|",
		}[kind])
		time.Sleep(time.Hour)
	case "curve":
		fmt.Fprintln(os.Stderr, hostCurve())
		return 3
	case "open", "untrusted": // it hides its certificate, or has none
		_ = os.Unsetenv("PLUGIN_CLIENT_CERT")
		serveAs(kind)
	case "attacker":
		if err := plugins.Serve(attacker{obedient{name}}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	case "netrpc":
		fmt.Println("1|1|unix|/nowhere|netrpc|")
		time.Sleep(time.Hour)
	case "core":
		fmt.Println("2|1|unix|/nowhere|grpc|")
		time.Sleep(time.Hour)
	case "future":
		serveRaw(7, plugin.PluginSet{protocol.Service: &unregistered{}})
	case "empty":
		serveRaw(1, plugin.PluginSet{protocol.Service: &unregistered{}})
	case "able":
		if err := plugins.Serve(able{obedient{name}}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	case "count":
		if err := plugins.Serve(&counting{obedient: obedient{name}}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	case "hostile":
		serveRaw(1, plugin.PluginSet{protocol.Service: &hostile{name: name}})
	default:
		if err := plugins.Serve(obedient{name}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func serveRaw(version int, set plugin.PluginSet) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  protocol.Handshake(),
		VersionedPlugins: map[int]plugin.PluginSet{version: set},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(options...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }

// obedient is a runtime whose behaviour the code chooses.
type obedient struct{ name string }

func (o obedient) Describe(ctx context.Context) (yurt.RuntimeInfo, error) {
	info := yurt.RuntimeInfo{
		Name: o.name, Version: "1.2.3", Languages: []string{o.name, "alias-" + o.name},
		Extensions: []string{"." + o.name}, Abilities: []string{"code"},
	}
	switch kind, _, _ := strings.Cut(o.name, "-"); kind {
	case "mute":
		<-ctx.Done()
	case "nameless":
		info.Name = "\x1b[2J"
	case "sorry":
		return yurt.RuntimeInfo{}, errors.New("license expired")
	}
	return info, nil
}

func (o obedient) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	switch verb, arg, _ := strings.Cut(req.Code, " "); verb {
	case "crash":
		fmt.Fprintln(os.Stderr, "dying words") // by way of go-plugin
		time.Sleep(50 * time.Millisecond)
		syscall.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	case "panic":
		panic("oh no")
	case "child": // a descendant that keeps the pipes open
		cmd := exec.Command("/bin/sleep", "3600")
		cmd.Stdout, cmd.Stderr = os.NewFile(1, ""), os.NewFile(2, "")
		if err := cmd.Start(); err != nil {
			return plugins.Plan{}, err
		}
		return plugins.Plan{Argv: []string{hostPID(fmt.Sprint(cmd.Process.Pid))}}, nil
	case "refuse":
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "code", "no %s please", arg)
	case "fail":
		return plugins.Plan{}, errors.New("disk on fire")
	case "bad":
		return plugins.Plan{}, nil // no argv
	case "env":
		return plugins.Plan{Argv: append([]string{"env"}, os.Environ()...)}, nil
	case "pid":
		return plugins.Plan{Argv: []string{hostPID("self")}}, nil
	case "print":
		fmt.Println("on standard output") // must not break the protocol
	case "large":
		return plugins.Plan{Argv: []string{"a"}, Files: []plugins.File{{Path: "f", Data: make([]byte, plugins.MaxPlanBytes), Mode: 0o600}}}, nil
	case "log":
		hclog.Default().Warn("from the runtime", "key", "value")
	}
	return plugins.Plan{
		Argv:   []string{"/bin/echo", req.ExecutionID, req.Language, string(req.Event), string(req.Context), req.Handler, req.Timeout.String(), req.MemoryLimit.String()},
		Files:  []plugins.File{{Path: "code", Data: []byte(req.Code), Mode: 0o640}},
		Env:    map[string]string{"DIR": req.Dir},
		Result: plugins.ResultEnvelope,
	}, nil
}

// hostPID returns the number that the process has on the host: /proc has those numbers, and a confined process has others of its
// own. The process is the own one or a child.
func hostPID(pid string) string {
	if self, err := os.Readlink("/proc/self"); pid == "self" && err == nil {
		return self
	}
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range all {
		status, _ := os.ReadFile(file)
		for line := range strings.Lines(string(status)) {
			if field, numbers, _ := strings.Cut(line, ":"); field == "NSpid" && slices.Contains(strings.Fields(numbers)[1:], pid) {
				return strings.Fields(numbers)[0]
			}
		}
	}
	return pid
}

// confined is how the tests start runtimes: as a node does.
func confined(dir string, checksums map[string]string) (option Option, end func()) {
	if !power.Held() {
		return func(*options) {}, func() {}
	}
	local := programs.New(programs.Config{PluginDir: dir, Checksums: checksums})
	return WithConfinement(programs.Runtimes{By: local}), local.Close
}

// hostile bypasses the checks of the SDK.
type hostile struct {
	plugin.NetRPCUnsupportedPlugin
	proto.UnimplementedRuntimeServer
	name string
}

func (h *hostile) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	proto.RegisterRuntimeServer(server, h)
	return nil
}

func (h *hostile) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("unused")
}

func (h *hostile) Describe(context.Context, *proto.DescribeRequest) (*proto.DescribeResponse, error) {
	return &proto.DescribeResponse{Name: h.name, Languages: []string{h.name}, Abilities: []string{"code"}}, nil
}

func (h *hostile) Plan(_ context.Context, req *proto.PlanRequest) (*proto.PlanResponse, error) {
	switch string(req.GetCode()) {
	case "binary":
		return &proto.PlanResponse{Argv: []string{"\xff"}}, nil
	case "huge":
		return &proto.PlanResponse{Argv: []string{"a"}, Files: []*proto.File{{Path: "f", Data: make([]byte, protocol.MaxResponseBytes)}}}, nil
	}
	return &proto.PlanResponse{Argv: []string{"a"}, Files: []*proto.File{{Path: "../../etc/cron.d/x", Data: []byte("x"), Mode: 0o644}}}, nil
}

// unregistered serves a plugin of the right name without the protocol's service.
type unregistered struct{ plugin.NetRPCUnsupportedPlugin }

func (unregistered) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }

func (unregistered) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("unused")
}

// playHost starts a runtime, prints its pid and waits to be killed.
func playHost(dir string) {
	option, _ := confined(dir, nil) // the process is killed
	h := New(dir, slog.New(slog.DiscardHandler), option)
	plan, err := h.Plan(context.Background(), plugins.PlanRequest{Kind: yurt.KindCode, Language: "good", Code: "pid"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Argv[0])
	time.Sleep(time.Hour)
}

// pluginDir makes a plugin directory with the given runtimes, played by this binary.
func pluginDir(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		addRuntime(t, dir, name)
	}
	return dir
}

func addRuntime(t testing.TB, dir, name string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, plugins.BinaryPrefix+name)); err != nil {
		t.Fatal(err)
	}
}

// newHost makes a host whose temporary directory must be empty in the end.
func newHost(t testing.TB, dir string, opts ...Option) *Host {
	t.Helper()
	return newLoggedHost(t, dir, slog.DiscardHandler, opts...)
}

func newLoggedHost(t testing.TB, dir string, logs slog.Handler, opts ...Option) *Host {
	t.Helper()
	temp, err := os.MkdirTemp("", "yurt") //nolint:usetesting // the names of t.TempDir are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	var given options
	for _, opt := range opts {
		opt(&given)
	}
	option, end := confined(dir, given.checksums)
	h := New(dir, slog.New(logs), append([]Option{WithTempDir(temp), option}, opts...)...)
	t.Cleanup(func() {
		h.Close()
		end()
		if left, _ := filepath.Glob(temp + "/*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(temp)
	})
	return h
}

func request(language, code string) plugins.PlanRequest {
	return plugins.PlanRequest{Kind: yurt.KindCode, Language: language, Code: code, Dir: "/run/x"}
}

func mustPlan(t testing.TB, h *Host, language, code string) plugins.Plan {
	t.Helper()
	plan, err := h.Plan(t.Context(), request(language, code))
	if err != nil {
		t.Fatalf("planning %s %q: %v", language, code, err)
	}
	return plan
}

// wantError checks the code of an error and parts of its message.
func wantError(t testing.TB, err error, code yurt.Code, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	if got := yurt.CodeOf(err); got != code {
		t.Errorf("code %s, want %s: %v", got, code, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error has no %q: %v", part, err)
		}
	}
	if strings.ContainsRune(err.Error(), '\x1b') || len(err.Error()) > 2000 {
		t.Errorf("error is not fit to be shown: %.2000q", err.Error())
	}
}

func keys[V any](m map[string]V) []string {
	var list []string
	for name := range maps.Keys(m) {
		list = append(list, name)
	}
	return list
}
