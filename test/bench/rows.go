package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/rootfs"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
)

// isolated is a pause after which the kernel has come to rest, as between requests
// of a server that is not overloaded.
const isolated = 30 * time.Millisecond

func benches() []bench {
	return []bench{
		{name: "sandbox-create", n: 60, pause: isolated, prepare: sandboxCreate},
		{name: "sandbox-exec", n: 200, pause: isolated, prepare: sandboxExec},
		{name: "rest-command", n: 200, pause: isolated, prepare: restCommand},
		{name: "rest-code-python", n: 100, pause: isolated, prepare: restCodePython},
	}
}

// node starts an executor.
func (p *place) node() (*executor.Executor, error) {
	binaries, err := executor.FindBinaries(filepath.Join(p.bin, "yurt"))
	if err != nil {
		return nil, err
	}
	e, err := executor.New(executor.Config{
		StateDir: filepath.Join(p.dir, "node"), Node: "bench", Transient: true, Logger: slog.New(slog.DiscardHandler),
		InitPath: binaries.Init, LauncherPath: binaries.Launcher, PluginDir: binaries.PluginDir,
	})
	if err != nil {
		return nil, err
	}
	p.cleanup(func() error { return errors.Join(e.DestroyAll(p.ctx), e.Close()) })
	return e, e.Start(p.ctx)
}

func sandboxSpec() yurt.SandboxSpec {
	return yurt.SandboxSpec{
		ID: yurt.NewSandboxID(), Resources: yurt.DefaultResources(),
		Template: yurt.Template{
			Name: "bench", RootFS: yurt.RootFS{HostPaths: yurt.DefaultHostPaths()},
			Isolation: yurt.Isolation{Level: yurt.IsolationNamespaces}, Network: yurt.Network{Mode: yurt.NetworkNone},
		},
	}
}

// execute runs a command in a sandbox to its end and forgets it.
func (p *place) execute(e *executor.Executor, sandbox string, argv ...string) error {
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: argv,
		Timeout: yurt.Duration(time.Minute), OutputLimit: yurt.DefaultOutputLimit,
	}
	if err := e.StartExecution(p.ctx, sandbox, spec); err != nil {
		return err
	}
	result, err := e.WaitExecution(p.ctx, sandbox, spec.ID)
	if err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("it exited with %d: %s", result.ExitCode, result.Stderr)
	}
	return e.ForgetExecution(p.ctx, sandbox, spec.ID)
}

// sandboxCreate is create, run /bin/true, destroy: all on the node.
func sandboxCreate(p *place) ([]contender, error) {
	e, err := p.node()
	if err != nil {
		return nil, err
	}
	bundle, err := runcBundle(p)
	if err != nil {
		return nil, err
	}
	count := 0
	return []contender{
		{"yurt", func() error {
			s, err := e.CreateSandbox(p.ctx, sandboxSpec())
			if err != nil {
				return err
			}
			return errors.Join(p.execute(e, s.ID, "/bin/true"), e.DestroySandbox(p.ctx, s.ID))
		}},
		{"runc", func() error {
			count++
			return command("runc", "--root", filepath.Join(p.dir, "runc"), "run", "--bundle", bundle, "bench-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(count))
		}},
		{"bwrap", func() error { return command("bwrap", bwrapArgs()...) }},
		{"fork+exec", func() error { return command("/bin/true") }},
	}, nil
}

// sandboxExec is a command in a sandbox that is there, on the node, with its output.
func sandboxExec(p *place) ([]contender, error) {
	e, err := p.node()
	if err != nil {
		return nil, err
	}
	s, err := e.CreateSandbox(p.ctx, sandboxSpec())
	if err != nil {
		return nil, err
	}
	return []contender{
		{"yurt", func() error { return p.execute(e, s.ID, "/bin/echo", "hello") }},
		{"fork+exec", func() error { return command("/bin/echo", "hello") }},
	}, nil
}

// restSession starts a server of its own and a session on it.
func restSession(p *place) (*yurtclient.Client, string, error) {
	server, err := devserver.Start(p.ctx, filepath.Join(p.bin, "yurt"), filepath.Join(p.dir, "server"), "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	p.cleanup(server.Stop)
	client, err := yurtclient.New(server.URL)
	if err != nil {
		return nil, "", err
	}
	session, err := client.CreateSession(p.ctx, yurtclient.CreateSessionRequest{TemplateID: "python-basic", Mode: yurt.ModePersistent})
	if err != nil {
		return nil, "", err
	}
	p.cleanup(func() error {
		_, err := client.EndSession(p.ctx, session.ID)
		return err
	})
	return client, session.ID, nil
}

// restCommand is a command in a session, through the REST API of a real server.
func restCommand(p *place) ([]contender, error) {
	client, session, err := restSession(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{"yurt", func() error {
			_, err := client.Execute(p.ctx, session, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"/bin/echo", "hello"}}})
			return err
		}},
		{"fork+exec", func() error { return command("/bin/echo", "hello") }},
	}, nil
}

// restCodePython is a fresh Python for a snippet, through the REST API.
func restCodePython(p *place) ([]contender, error) {
	client, session, err := restSession(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{"yurt", func() error {
			done, err := client.Execute(p.ctx, session, yurtclient.ExecuteRequest{Language: "python", Code: "print(6 * 7)"})
			if err == nil && done.Result.Stdout != "42\n" {
				err = fmt.Errorf("it said %q", done.Result.Stdout)
			}
			return err
		}},
		{"python3 -c", func() error { return command("/usr/bin/python3", "-c", "print(6 * 7)") }},
	}, nil
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// bwrapArgs are bwrap's nearest to a sandbox of ours: it has no cgroup limits and
// no seccomp filter.
func bwrapArgs() []string {
	args := []string{"--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/workspace"}
	layout, err := rootfs.FromHost(yurt.DefaultHostPaths(), yurt.DefaultHostPaths())
	if err != nil {
		return nil
	}
	for _, path := range layout.Binds {
		args = append(args, "--ro-bind", path, path)
	}
	for _, link := range layout.Links {
		args = append(args, "--symlink", link.Target, link.Path)
	}
	return append(args, "/bin/true")
}

// runcBundle is what `runc spec` writes, with a memory limit and the host's
// directories for a root, as a sandbox of ours has them.
func runcBundle(p *place) (string, error) {
	dir := filepath.Join(p.dir, "bundle")
	if err := os.MkdirAll(filepath.Join(dir, "rootfs"), 0o755); err != nil {
		return "", err
	}
	if err := command("runc", "spec", "--bundle", dir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "config.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var spec specs.Spec
	if err := json.Unmarshal(data, &spec); err != nil {
		return "", err
	}
	if err := furnish(&spec, filepath.Join(dir, "rootfs")); err != nil {
		return "", err
	}
	if data, err = json.Marshal(spec); err != nil {
		return "", err
	}
	return dir, os.WriteFile(path, data, 0o600)
}

func furnish(spec *specs.Spec, root string) error {
	layout, err := rootfs.FromHost(yurt.DefaultHostPaths(), yurt.DefaultHostPaths())
	if err != nil {
		return err
	}
	for _, dir := range append(layout.Dirs, "/sys") {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, link := range layout.Links {
		if err := os.Symlink(link.Target, filepath.Join(root, link.Path)); err != nil {
			return err
		}
	}
	for _, file := range layout.Files {
		if err := os.WriteFile(filepath.Join(root, file.Path), []byte(file.Data), 0o644); err != nil {
			return err
		}
	}
	for _, path := range layout.Binds {
		spec.Mounts = append(spec.Mounts, specs.Mount{Destination: path, Source: path, Type: "bind", Options: []string{"rbind", "ro", "nosuid", "nodev"}})
	}
	limit := int64(yurt.DefaultResources().Memory)
	spec.Process.Terminal = false
	spec.Process.Args = []string{"/bin/true"}
	spec.Linux.Resources.Memory = &specs.LinuxMemory{Limit: &limit}
	return nil
}
