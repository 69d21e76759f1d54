package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/doctor"
	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
)

// Driver names the programs that a client needs to run tasks of Yurt.
type Driver struct {
	PluginDir string
	// Program is yurt, which the driver starts a node's executor with.
	Program string
}

// BuildDriver builds the driver, and the programs that it starts.
func BuildDriver(t testing.TB) Driver {
	t.Helper()
	d := Driver{Program: testutil.BuildYurt(t, "yurt", "test")}
	d.PluginDir = filepath.Join(filepath.Dir(d.Program), "nomad")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(d.PluginDir, DriverPlugin), "./cmd/"+DriverPlugin)
	cmd.Dir = testutil.Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the driver: %v\n%s", err, out)
	}
	return d
}

// DriverPlugin is the file name of the driver, by which an agent's configuration names it.
const DriverPlugin = "nomad-driver-yurt"

// Config is the plugin block of a client's configuration. more is for inside its config
// block.
func (d Driver) Config(more string) string {
	return fmt.Sprintf(`
plugin %q {
  config {
    executor  = %q
    state_dir = "${dir}/%s"
    node_name = "${node}"
    %s
  }
}
`, DriverPlugin, d.Program, stateDir, more)
}

// stateDir is that of the node's executor, in the agent's directory, and Disk the file system below
// it.
const (
	Disk     = "disk"
	stateDir = Disk + "/yurt"
)

// Yurt starts a cluster whose clients run tasks of Yurt, and waits until they do.
func Yurt(t testing.TB, options Options, config string) *NomadCluster {
	t.Helper()
	needsRoot(t)
	driver := BuildDriver(t)
	options.PluginDir = driver.PluginDir
	options.ClientConfig += driver.Config(config)
	c := Nomad(t, options)
	for _, client := range c.Clients {
		if err := client.WaitDriver(t.Context(), "yurt"); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// StateDir is the state directory of the executor on the agent's node.
func (a *NomadAgent) StateDir() string { return filepath.Join(a.Dir, stateDir) }

// DiskDir is the file system of the state directory, see [NomadOptions].DiskSize.
func (a *NomadAgent) DiskDir() string { return filepath.Join(a.Dir, Disk) }

// makeDisk makes the file system of the executor's state. The agent's end unmounts it.
func (a *NomadAgent) makeDisk() error {
	if err := os.Mkdir(a.DiskDir(), 0o700); err != nil {
		return fmt.Errorf("making a directory for an executor: %w", err)
	}
	if a.options.DiskSize == "" {
		return nil
	}
	if err := unix.Mount("tmpfs", a.DiskDir(), "tmpfs", 0, "mode=700,size="+a.options.DiskSize); err != nil {
		return fmt.Errorf("mounting a disk for an executor: %w", err)
	}
	return nil
}

// Executor connects to the executor of the node.
func (a *NomadAgent) Executor() (*api.Client, error) {
	return api.NewUnixClient(filepath.Join(a.StateDir(), "executor.sock"))
}

// ExecutorPID returns the process id of the node's executor.
func (a *NomadAgent) ExecutorPID() (int, error) { return a.pidOf(true) }

// BrokerPID returns the process id of its broker.
func (a *NomadAgent) BrokerPID() (int, error) { return a.pidOf(false) }

// FilesPID returns the process id of the server of files that its broker has started.
func (a *NomadAgent) FilesPID() (int, error) {
	broker, err := a.BrokerPID()
	if err != nil {
		return 0, err
	}
	all, err := doctor.Processes()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if p.Program == confine.FileServer && p.Parent == broker {
			return p.PID, nil
		}
	}
	return 0, fmt.Errorf("process %d has no %s", broker, confine.FileServer)
}

func (a *NomadAgent) pidOf(executor bool) (int, error) {
	found, err := leftovers.Of(a.StateDir())
	if err != nil {
		return 0, err
	}
	for _, p := range found.Processes {
		if filepath.Base(p.Exe) == "yurt" && p.IsExecutor() == executor {
			return p.PID, nil
		}
	}
	return 0, fmt.Errorf("no executor runs on %s:\n%s", a.StateDir(), found)
}

// stopExecutor ends the node's executor, if the driver started one. Jobs are to be stopped
// before: a sandbox that is left is destroyed, and an error.
func (a *NomadAgent) stopExecutor() error {
	if _, err := os.Stat(a.StateDir()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	errs := []error{a.destroySandboxes(ctx)}
	if pid, err := a.ExecutorPID(); err == nil {
		errs = append(errs, unix.Kill(pid, unix.SIGTERM))
	}
	left, err := leftovers.Gone(ctx, a.StateDir(), patience)
	if err == nil && left.Count() > 0 {
		err = fmt.Errorf("this is left of the executor of %s:\n%s", a.Node, left)
	}
	return errors.Join(append(errs, err)...)
}

// destroySandboxes destroys sandboxes that Nomad left, once it has had a while to end them itself.
func (a *NomadAgent) destroySandboxes(ctx context.Context) error {
	client, err := a.Executor()
	if err != nil {
		return err
	}
	defer client.Close()
	var left []yurt.Sandbox
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if left, err = client.Sandboxes(ctx); err != nil {
			return fmt.Errorf("looking for sandboxes that were left: %w", err)
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			break
		}
	}
	var errs []error
	for _, sandbox := range left {
		errs = append(errs, fmt.Errorf("sandbox %s is left on %s, with labels %v", sandbox.ID, a.Node, sandbox.Labels), client.DestroySandbox(ctx, sandbox.ID))
	}
	return errors.Join(errs...)
}
