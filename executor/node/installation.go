package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/egress"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// carryOut makes a layer, in a sandbox for that alone.
func (p *provisioner) carryOut(ctx context.Context, in *packages.Installation) error {
	view, err := p.node.make(ctx, installSpec(in.Template), createOptions{installs: true})
	if err != nil {
		return fmt.Errorf("making a sandbox to install packages in: %w", err)
	}
	defer func() {
		if err := p.node.DestroySandbox(context.WithoutCancel(ctx), view.ID); err != nil && p.node.table.ctx.Err() == nil {
			p.node.logger.Error("removing the sandbox of an installation", "sandbox", view.ID, "error", err)
		}
	}()
	s, err := p.node.Find(ctx, view.ID)
	if err != nil {
		return err
	}
	p.node.logger.Info("installing packages", "runtime", in.Layer.Runtime, "layer", in.Layer.Digest, "sandbox", s.ID())
	if err := p.runInstaller(ctx, s, in); err != nil {
		return err
	}
	return p.keepLayer(ctx, s, in.Layer)
}

// runInstaller has the package manager do its work, with the proxy as its way out.
func (p *provisioner) runInstaller(ctx context.Context, s *Handle, in *packages.Installation) error {
	listener, err := s.Broker.Listen(s.ID())
	if err != nil {
		return fmt.Errorf("giving an installation its network: %w", err)
	}
	serving, stop := context.WithCancel(ctx)
	proxy := egress.New(p.node.config.Packages.Hosts, net.DefaultResolver, p.node.logger.With("sandbox", s.ID()))
	var served sync.WaitGroup
	served.Go(func() { proxy.Serve(serving, listener) })
	defer served.Wait()
	defer stop()
	env, err := p.installEnv(s, in.Layer, listener.Addr().String())
	if err != nil {
		return err
	}
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: in.Layer.Argv, Env: env, Cwd: installDir,
		Timeout: yurt.Duration(yurt.MaxExecutionTimeout), OutputLimit: packages.MaxOutput,
	}
	for _, f := range in.Layer.Files {
		spec.Files = append(spec.Files, yurt.SourceFile{Path: f.Path, Data: f.Data})
	}
	if _, _, err := s.Files.MakeDir(path.Join(strings.TrimPrefix(installDir, yurt.WorkspaceDir+"/"), in.Layer.LayerDir), 0o755); err != nil {
		return err
	}
	if err := p.node.dispatcher.Dispatch(ctx, s.ID(), spec, run.Stdio{}); err != nil {
		return err
	}
	return p.followInstaller(ctx, s, spec.ID, in)
}

func (p *provisioner) followInstaller(ctx context.Context, s *Handle, id string, in *packages.Installation) error {
	r := s.Find(id)
	if r == nil {
		return run.NotFound(id)
	}
	var result *yurt.Result
	err := p.node.runs.Watch(ctx, r, 0, func(event yurt.Event) error {
		switch event.Type {
		case yurt.EventStdout, yurt.EventStderr:
			in.Say(string(event.Data))
		case yurt.EventEnded:
			result = event.Result
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case result == nil:
		return errors.New("the installation ended without a result")
	case result.Error != nil:
		return fmt.Errorf("the packages for %s could not be installed: %s\n%s", in.Layer.Runtime, result.Error.Message, in.Tail())
	case result.ExitCode != 0:
		return fmt.Errorf("the packages for %s could not be installed, exit code %d:\n%s", in.Layer.Runtime, result.ExitCode, in.Tail())
	}
	return nil
}

// installEnv is the environment of an installation: the proxy, the trusted certificates, and the variables of the operator and of
// the plan.
func (p *provisioner) installEnv(s *Handle, l *packages.Layer, proxy string) (map[string]string, error) {
	env := map[string]string{
		"NO_PROXY": "", "no_proxy": "", "CI": "1", "YURT_PROXY": proxy,
		"PIP_RETRIES": "5", "NPM_CONFIG_FETCH_RETRIES": "2", "CARGO_NET_RETRY": "3", // their defaults, in place of offlineEnv
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"} {
		env[name] = "http://" + proxy
	}
	trusted, err := os.Open(p.node.config.Packages.CAFile)
	switch {
	case err == nil:
		defer trusted.Close()
		if _, err := s.Plans.Write(path.Base(caPath), trusted, sandbox.RunFileLimit, 0o444); err != nil {
			return nil, fmt.Errorf("giving an installation its certificates: %w", err)
		}
		for _, name := range []string{"SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CARGO_HTTP_CAINFO", "CURL_CA_BUNDLE"} {
			env[name] = caPath
		}
	case !errors.Is(err, os.ErrNotExist): // without them the tools have their own
		return nil, fmt.Errorf("reading the certificates of registries: %w", err)
	}
	maps.Copy(env, l.Env)
	maps.Copy(env, p.node.config.Packages.Env)
	return env, nil
}

// keepLayer makes the layer of the files that the installation left.
func (p *provisioner) keepLayer(ctx context.Context, s *Handle, l *packages.Layer) error {
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := s.Files.Pack(ctx, path.Join(installDir, l.LayerDir), w)
		w.CloseWithError(err)
		packed <- err
	}()
	err := p.node.config.Packages.AddLayer(ctx, p.node.layers, l.Digest, r)
	r.CloseWithError(err)
	if err := errors.Join(err, <-packed); err != nil {
		return fmt.Errorf("keeping the installed files: %w", err)
	}
	return nil
}

// installResources are those of a sandbox that installs packages: more than most code
// needs, and never more than half of the host's memory.
func installResources(of yurt.Resources) yurt.Resources {
	const memory, disk, pids = 2 << 30, 3 << 30, 512
	half := yurt.Size(disk)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		half = yurt.Size(info.Totalram) * yurt.Size(info.Unit) / 2
	}
	of.Memory = min(max(of.Memory, memory+disk), half)
	of.Disk = min(max(of.Disk, disk), half)
	of.PIDs = max(of.PIDs, pids)
	return of
}

// installSpec is the specification of the sandbox that installs packages for a sandbox of
// the template: the same tools, without its owner's settings.
func installSpec(template yurt.Template) yurt.SandboxSpec {
	template.Isolation.PerExecution, template.Dependencies = false, nil
	template.Resources.DiskKind = ""
	template.Resources = installResources(template.Resources.Or(yurt.DefaultResources()))
	return yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources}
}

// caPath is where an installation finds the certificates of its registries.
const caPath = rootfs.RunDir + "/ca.pem"
