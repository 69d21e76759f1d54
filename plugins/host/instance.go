package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
	"github.com/yurtrun/yurt/plugins/internal/text"
)

// instance is one running process of a runtime, connected and described.
type instance struct {
	name    string
	client  *plugin.Client
	process *process
	runtime *clientV1
	info    yurt.RuntimeInfo
	calls   sync.WaitGroup
	plans   *planCache
}

// launch starts the binary at path and returns once it has described itself. It
// takes no longer than the start timeout, because the process is killed then and
// everything that waits for it ends. ctx is the host's: its end kills too.
func (h *Host) launch(ctx context.Context, name, path string) (*instance, error) {
	own, err := newCertificate()
	if err != nil {
		return nil, err
	}
	proc, err := h.newProcess(name, path)
	if err != nil {
		return nil, err
	}
	inst := &instance{name: name, process: proc, plans: newPlanCache()}
	inst.client = plugin.NewClient(h.clientConfig(proc, own))

	limit := time.AfterFunc(h.opts.startTimeout, func() {
		proc.kill(fmt.Errorf("had not finished starting after %s and was killed", h.opts.startTimeout))
	})
	defer limit.Stop()
	closed := context.AfterFunc(ctx, func() { proc.kill(errHostClosed) })
	defer closed()

	if err := inst.connect(ctx); err != nil {
		inst.stop(errStopped)
		return nil, h.diagnose(name, proc, err)
	}
	// The connection lasts as long as the process: without its socket's name no other process can connect, and a host that is
	// killed leaves no file behind.
	if err := os.RemoveAll(proc.socketDir); err != nil {
		h.log.Warn("cannot remove a runtime's socket", "runtime", name, "error", err)
	}
	return inst, nil
}

func (h *Host) clientConfig(proc *process, own certificate) *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig:  protocol.Handshake(),
		VersionedPlugins: protocol.Versions(&dialedV1{}),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		TLSConfig:        own.config(),
		SkipHostEnv:      true,
		Logger:           quiet{h.log},
		StartTimeout:     h.opts.startTimeout + time.Minute, // launch cuts off earlier, and says why
		SyncStdout:       io.Discard,
		SyncStderr:       &proc.stderr.tail,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: h.opts.tempDir},
		// Never idle: the socket's name is gone, there is no connecting again.
		GRPCDialOptions: []grpc.DialOption{grpc.WithIdleTimeout(0)},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			proc.socketDir = socketDir
			proc.take(append(cmd.Env, own.variable()))
			return proc, nil
		},
	}
}

// connect goes through the handshake, dials and asks for the description.
func (i *instance) connect(ctx context.Context) error {
	rpc, err := i.client.Client()
	if err != nil {
		return err
	}
	served, err := rpc.Dispense(protocol.Service)
	if err != nil {
		return err
	}
	rt, ok := served.(*clientV1)
	if !ok {
		return errNoRuntime
	}
	i.runtime = rt
	if i.info, err = rt.Describe(ctx); err != nil {
		return err
	}
	if err := validateInfo(i.info); err != nil {
		return &protocolError{"describes itself badly: " + err.Error()}
	}
	return nil
}

// stop ends the process and waits for everything that belongs to it.
func (i *instance) stop(reason error) {
	i.process.kill(reason)
	i.client.Kill()
	i.calls.Wait()
	if i.process.socketDir != "" {
		_ = os.RemoveAll(i.process.socketDir) // usually gone already; a leftover does no harm
	}
}

// protocolError says that a runtime broke the protocol, as the end of a sentence
// that begins with its name.
type protocolError struct{ text string }

func (e *protocolError) Error() string { return e.text }

// diagnose turns a failed start into an error for the user. The process has ended when it is called.
func (h *Host) diagnose(name string, proc *process, err error) error {
	if startErr := proc.startError(); startErr != nil {
		return diagnoseExec(name, startErr)
	}
	if proc.killedFor() != nil && !errors.Is(proc.killedFor(), errStopped) {
		return unavailable(name, proc)
	}
	if text := diagnoseHandshake(proc.stdout.text()); text != "" {
		return yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s %s", name, text)
	}
	var broken *protocolError
	switch {
	case errors.As(err, &broken):
		return yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s %w", name, broken)
	case unimplemented(err) || errors.Is(err, errNoRuntime):
		return yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s does not answer the calls of protocol version %s; rebuild it against this version of Yurt", name, protocol.Spoken())
	case proc.stdout.text() == "" && proc.exitedCleanly():
		return yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s is not a runtime: it exited without a word of the protocol; remove the file or replace it by a runtime that speaks version %s", name, protocol.Spoken())
	}
	if given := protocol.ErrorFromWire(err); given != nil {
		return yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s cannot describe itself: %s", name, given.Message)
	}
	return yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s failed to start: %s", name, proc.epitaph())
}

// diagnoseExec explains a binary that the kernel did not start.
func diagnoseExec(name string, err error) error {
	var given *yurt.Error
	if errors.As(err, &given) {
		return yurt.Errorf(given.Code, "runtime %s is not started: %w", name, given)
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EMFILE) || errors.Is(err, errHostClosed) {
		return yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s cannot be started now: %w", name, err)
	}
	return yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s is not a program that this host can start (%w); install one built for it that speaks version %s of the runtime protocol", name, err, protocol.Spoken())
}

// diagnoseHandshake explains a first line of output that is not the handshake of
// a version we speak. The line is "core|app|network|address|protocol|certificate".
func diagnoseHandshake(line string) string {
	if line == "" {
		return ""
	}
	parts := strings.Split(line, "|")
	if len(parts) < 4 || !isNumber(parts[0]) || !isNumber(parts[1]) {
		return fmt.Sprintf("is not a runtime: it printed %s where the handshake of the runtime protocol belongs; Yurt speaks version %s of it", text.Quote(line), protocol.Spoken())
	}
	if parts[0] != strconv.Itoa(plugin.CoreProtocolVersion) {
		return fmt.Sprintf("uses version %s of the plugin handshake; Yurt uses %d", parts[0], plugin.CoreProtocolVersion)
	}
	if version, err := strconv.Atoi(parts[1]); err != nil || protocol.Versions(&dialedV1{})[version] == nil {
		return fmt.Sprintf("speaks version %s of the runtime protocol; this Yurt speaks version %s: install a runtime and a Yurt that have one in common", parts[1], protocol.Spoken())
	}
	if len(parts) < 5 || parts[4] != string(plugin.ProtocolGRPC) {
		return "does not speak gRPC, which the runtime protocol is made of"
	}
	return ""
}

func isNumber(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && len(text) < 10
}

func unavailable(name string, proc *process) error {
	return yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s is unavailable: %s; it is started again by the next request", name, proc.epitaph())
}

// quiet demotes go-plugin's own chatter: the host reports the important events itself. The runtime's log lines go through Named
// and keep their levels.
type quiet struct{ hclog.Logger }

func (q quiet) Debug(msg string, args ...any) { q.Logger.Trace(msg, args...) }
func (q quiet) Info(msg string, args ...any)  { q.Logger.Trace(msg, args...) }
func (q quiet) Warn(msg string, args ...any)  { q.Logger.Debug(msg, args...) }
func (q quiet) Error(msg string, args ...any) { q.Logger.Debug(msg, args...) }
