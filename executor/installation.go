package executor

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
	"time"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/egress"
	"github.com/yurtrun/yurt/executor/lambda"
)

const (
	// installOutput bounds what is kept of what a package manager prints, in bytes.
	installOutput = 1 << 20
	// failureTail is how much of the end of that becomes the message of an error.
	failureTail = 3000
)

// installation is the making of a layer, for all who wait for it.
type installation struct {
	layer    *layerPlan
	template yurt.Template
	cancel   context.CancelFunc

	waiting int // for the holder of Executor.mu

	mu   sync.Mutex
	said []byte
	more chan struct{} // closed, and replaced, when there is more or it is over
	over bool
	err  error
}

// install returns when the layer is there, or why it is not. It makes it, unless somebody
// does already, and tells what is said meanwhile. When all who wait have left, it is given
// up. The layer is kept from being removed until the caller has it.
func (e *Executor) install(ctx context.Context, s *sandbox, l *layerPlan, tell func(string) error) error {
	in, err := e.joinInstallation(s, l)
	if err != nil {
		return err
	}
	defer e.leaveInstallation(in, s)
	for seen := 0; ; {
		in.mu.Lock()
		text, more, over, err := string(in.said[seen:]), in.more, in.over, in.err
		in.mu.Unlock()
		seen += len(text)
		if err := tell(text); err != nil {
			return err
		}
		if over {
			e.mu.Lock()
			s.installs.note(err, time.Now())
			e.mu.Unlock()
		}
		if over && err == nil {
			return e.take(s, l)
		}
		if over {
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take has the sandbox use the layer while the installation still does.
func (e *Executor) take(s *sandbox, l *layerPlan) error {
	there, err := e.layers.Use(l.digest, s.id)
	if err == nil && !there {
		err = yurt.Errorf(yurt.CodeUnavailable, "the packages were removed to make room for others; try again")
	}
	return err
}

// joinInstallation returns the installation of the layer that goes on, or begins one.
func (e *Executor) joinInstallation(s *sandbox, l *layerPlan) (*installation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down")
	}
	if err := s.installs.begin(time.Now()); err != nil {
		return nil, err
	}
	if in := e.installing[l.digest]; in != nil {
		in.waiting++
		return in, nil
	}
	ctx, cancel := context.WithTimeout(e.ctx, e.config.Packages.Timeout)
	in := &installation{layer: l, template: s.record.Spec.Template, cancel: cancel, waiting: 1, more: make(chan struct{})}
	e.installing[l.digest] = in
	e.wait.Go(func() {
		defer cancel()
		err := e.carryOut(ctx, in)
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = fmt.Errorf("the installation took longer than %s and was ended:\n%s", e.config.Packages.Timeout, in.tail())
		}
		e.finish(in, err)
	})
	return in, nil
}

// leaveInstallation ends the wait of one. What nobody waits for is given up, and whoever asks for it
// next begins again.
func (e *Executor) leaveInstallation(in *installation, s *sandbox) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.installs.end()
	if in.waiting--; in.waiting > 0 {
		return
	}
	in.cancel()
	if e.installing[in.layer.digest] == in {
		delete(e.installing, in.layer.digest)
	}
	e.layers.Release(in.user())
}

// user is what the installation is called as a user of its layer.
func (in *installation) user() string { return fmt.Sprintf("installation %p", in) }

// finish tells those who wait how it ended.
func (e *Executor) finish(in *installation, err error) {
	e.mu.Lock()
	if err == nil && in.waiting > 0 {
		_, err = e.layers.Use(in.layer.digest, in.user())
	}
	if e.installing[in.layer.digest] == in {
		delete(e.installing, in.layer.digest)
	}
	e.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over, in.err = true, err
	close(in.more)
}

// say passes on what the package manager prints.
func (in *installation) say(text string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.said)+len(text) > installOutput {
		return
	}
	in.said = append(in.said, text...)
	close(in.more)
	in.more = make(chan struct{})
}

// tail is the end of what it printed.
func (in *installation) tail() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	said := in.said
	if len(said) > failureTail {
		said = said[len(said)-failureTail:]
		for len(said) > 0 && !utf8.RuneStart(said[0]) {
			said = said[1:]
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(said), "�"))
}

// carryOut makes the layer, in a sandbox for that alone.
func (e *Executor) carryOut(ctx context.Context, in *installation) error {
	select {
	case e.installs <- struct{}{}:
	default:
		in.say("waiting for other installations on this node\n")
		select {
		case e.installs <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() { <-e.installs }()
	if there, err := e.layers.Use(in.layer.digest, in.user()); err != nil || there {
		return err // it was made between the look and this
	}
	view, err := e.make(ctx, installSpec(in.template), purpose{installs: true})
	if err != nil {
		return fmt.Errorf("making a sandbox to install packages in: %w", err)
	}
	defer func() {
		if err := e.DestroySandbox(context.WithoutCancel(ctx), view.ID); err != nil && e.ctx.Err() == nil {
			e.logger.Error("removing the sandbox of an installation", "sandbox", view.ID, "error", err)
		}
	}()
	s, err := e.find(view.ID)
	if err != nil {
		return err
	}
	e.logger.Info("installing packages", "runtime", in.layer.runtime, "layer", in.layer.digest, "sandbox", s.id)
	if err := e.runInstaller(ctx, s, in); err != nil {
		return err
	}
	return e.keepLayer(ctx, s, in.layer)
}

// runInstaller has the package manager do its work, with the proxy as its way out.
func (e *Executor) runInstaller(ctx context.Context, s *sandbox, in *installation) error {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", s.record.Init.PID))
	if err != nil {
		return fmt.Errorf("giving an installation its network: %w", err)
	}
	defer namespace.Close()
	listener, err := lambda.Listen(namespace)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	proxy := egress.New(e.config.Packages.Hosts, net.DefaultResolver, e.logger.With("sandbox", s.id))
	var served sync.WaitGroup
	served.Go(func() { proxy.Serve(serving, listener) })
	defer served.Wait()
	defer stop()
	env, err := e.installEnv(s, in.layer, listener.Addr().String())
	if err != nil {
		return err
	}
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: in.layer.Argv, Env: env, Cwd: installDir,
		Timeout: yurt.Duration(yurt.MaxExecutionTimeout), OutputLimit: installOutput,
	}
	for _, f := range in.layer.Files {
		spec.Files = append(spec.Files, yurt.SourceFile{Path: f.Path, Data: f.Data})
	}
	if _, _, err := s.files.MakeDir(path.Join(strings.TrimPrefix(installDir, yurt.WorkspaceDir+"/"), in.layer.LayerDir), 0o755); err != nil {
		return err
	}
	if err := e.StartExecution(ctx, s.id, spec); err != nil {
		return err
	}
	return e.followInstaller(ctx, s, spec.ID, in)
}

func (e *Executor) followInstaller(ctx context.Context, s *sandbox, id string, in *installation) error {
	var result *yurt.Result
	err := e.WatchExecution(ctx, s.id, id, 0, func(event yurt.Event) error {
		switch event.Type {
		case yurt.EventStdout, yurt.EventStderr:
			in.say(string(event.Data))
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
		return fmt.Errorf("%s could not install the packages: %s\n%s", path.Base(in.layer.Argv[0]), result.Error.Message, in.tail())
	case result.ExitCode != 0:
		return fmt.Errorf("%s could not install the packages and exited with %d:\n%s", path.Base(in.layer.Argv[0]), result.ExitCode, in.tail())
	}
	return nil
}

// installEnv is the environment of an installation: the way out, whom to trust, what the
// operator and the plan say.
func (e *Executor) installEnv(s *sandbox, l *layerPlan, proxy string) (map[string]string, error) {
	env := map[string]string{"NO_PROXY": "", "no_proxy": "", "CI": "1", "YURT_PROXY": proxy}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"} {
		env[name] = "http://" + proxy
	}
	trusted, err := os.Open(e.config.Packages.CAFile)
	switch {
	case err == nil:
		defer trusted.Close()
		if _, err := s.plans.Write(path.Base(caPath), trusted, runFileLimit, 0o444); err != nil {
			return nil, fmt.Errorf("giving an installation its certificates: %w", err)
		}
		for _, name := range []string{"SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CARGO_HTTP_CAINFO", "CURL_CA_BUNDLE"} {
			env[name] = caPath
		}
	case !errors.Is(err, os.ErrNotExist): // without them the tools have their own
		return nil, fmt.Errorf("reading the certificates of registries: %w", err)
	}
	maps.Copy(env, l.Env)
	maps.Copy(env, e.config.Packages.Env)
	return env, nil
}

// keepLayer makes the layer of what the installation left.
func (e *Executor) keepLayer(ctx context.Context, s *sandbox, l *layerPlan) error {
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := s.files.Pack(ctx, path.Join(installDir, l.LayerDir), w)
		w.CloseWithError(err)
		packed <- err
	}()
	err := e.layers.Add(ctx, l.digest, r)
	r.CloseWithError(err)
	if err := errors.Join(err, <-packed); err != nil {
		return fmt.Errorf("keeping what was installed: %w", err)
	}
	return nil
}
