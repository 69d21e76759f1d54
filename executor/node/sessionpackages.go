package node

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/pkgsocket"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// socketDelay is how long after a sandbox its socket for packages is made: most executions are
// over by then, and do not pay for it.
const socketDelay = 100 * time.Millisecond

// mayInstall reports whether commands of a sandbox of the specification may install packages.
func mayInstall(config packages.Config, spec yurt.SandboxSpec) bool {
	network := spec.Template.Network // a template without a mode has no network either
	return !config.Off && spec.Host == nil && network.Mode == yurt.NetworkNone && network.Packages != yurt.PackagesNone
}

// servePackages answers the commands of a sandbox that install packages, until the sandbox is
// gone or the executor is closed.
func (p *provisioner) servePackages(s *Handle) {
	select {
	case <-time.After(socketDelay):
	case <-s.Gone:
		return
	case <-p.node.table.ctx.Done():
		return
	}
	if s.adoption != nil {
		select {
		case <-s.adoption.done:
		case <-p.node.table.ctx.Done():
			return
		}
	}
	if s.IsGone() {
		return
	}
	listener, err := s.Plans.Listen(pkgsocket.Name, pkgsocket.Backlog)
	if err != nil {
		if !s.IsGone() && p.node.table.ctx.Err() == nil {
			p.node.logger.Warn("commands of a sandbox cannot install packages", "sandbox", s.ID(), "error", err)
		}
		return
	}
	ctx, cancel := context.WithCancel(p.node.table.ctx)
	defer cancel()
	p.node.table.goes(func() {
		select {
		case <-s.Gone:
			cancel()
		case <-ctx.Done():
		}
	})
	server := pkgsocket.NewServer(func(ctx context.Context, r pkgsocket.Request, pid int, tell func(string) error) pkgsocket.Answer {
		answer, err := p.installInto(ctx, s, r, p.telling(s, r, pid, tell))
		if err != nil {
			answer.Error = sandbox.Shown(err)
		}
		return answer
	})
	server.Serve(ctx, listener)
}

// telling returns the function that passes progress on: to the command, which prints it, and to
// the watchers of the execution that the command is part of. They are told that an installation
// begins, and all progress of a command that is quiet.
func (p *provisioner) telling(s *Handle, request pkgsocket.Request, pid int, tell func(string) error) func(string) error {
	r, told := s.RunOf(pid), 0
	note := func(text string) {
		if told += len(text); r != nil && told <= maxProgress {
			_ = r.Log.Append(runlog.Entry{Kind: runlog.Progress, At: time.Now(), Data: []byte(text)}) // it does without
		}
	}
	return func(text string) error {
		if text != "" && told == 0 {
			note("installing packages into the session with " + request.Manager + "\n")
		}
		if text != "" && request.Quiet {
			note(text)
		}
		return tell(text)
	}
}

// installInto installs the packages of a request, and shows them to every process of the session.
func (p *provisioner) installInto(ctx context.Context, s *Handle, r pkgsocket.Request, tell func(string) error) (answer pkgsocket.Answer, err error) {
	if err := s.CheckUsable(); err != nil {
		return answer, err
	}
	defer p.node.disks.Explain(&err)
	info, err := p.runtimeFor(ctx, s, r.Manager)
	if err != nil {
		return answer, err
	}
	had, err := p.installedIn(s, info.Name)
	if err != nil {
		return answer, err
	}
	if there := had.all(r); there != nil {
		return pkgsocket.Answer{Installed: there, Present: true}, nil
	}
	l, err := p.makeSessionLayer(ctx, s, info, r, had, tell)
	if err != nil {
		return answer, err
	}
	if err := p.node.kernels.UntilStartable(s.Sandbox); err != nil {
		return answer, err
	}
	defer s.Gate.RUnlock()
	if err := s.MountLayer(p.node.layers, l); err != nil {
		return answer, err
	}
	if err := s.ShowLayer(p.node.layers, l); err != nil {
		return answer, err
	}
	return had.answer(r, p.node.layers.Tree(l.Digest))
}

// runtimeFor returns the runtime that knows the package manager. The template need not run it:
// its tools are looked for in the sandbox.
func (p *provisioner) runtimeFor(ctx context.Context, s *Handle, manager string) (yurt.RuntimeInfo, error) {
	language := "python"
	if manager == pkgsocket.Npm {
		language = "javascript"
	}
	info, err := p.node.runtimes.RuntimeOf(ctx, language)
	if err != nil {
		return info, yurt.Errorf(yurt.CodeNotSupported, "this node has no runtime for %s, which %s needs", language, manager)
	}
	_, err = s.Tools(info)
	return info, err
}

// makeSessionLayer returns the layer of the packages of a request, which the sandbox uses. A layer
// of these packages alone is taken if it is there already and fits the versions of the session.
// Else one is made that keeps to these versions, as far as the new packages allow it.
func (p *provisioner) makeSessionLayer(ctx context.Context, s *Handle, info yurt.RuntimeInfo, r pkgsocket.Request, had *had, tell func(string) error) (*packages.Layer, error) {
	alone, err := p.node.planner.planLayer(ctx, s.Base(), info, r.Packages, manifestOf(r))
	if err != nil {
		return nil, err
	}
	if alone == nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the manifest lists no packages to install")
	}
	there, err := p.node.layers.Use(alone.Digest, s.ID())
	if err != nil {
		return nil, err
	}
	if there && had.fits(p.node.layers.Tree(alone.Digest), r) {
		return alone, nil
	}
	constraints := had.constraints(r)
	if constraints == "" {
		return alone, p.installAll(ctx, s, packages.Layers{alone}, tell)
	}
	l, err := p.node.planner.planLayer(ctx, s.Base(), info, nil, []yurt.SourceFile{
		{Path: "constraints.txt", Data: []byte(constraints)},
		{Path: "requirements.txt", Data: []byte("-c constraints.txt\n" + strings.Join(r.Packages, "\n") + "\n")},
	})
	if err != nil {
		return nil, err
	}
	err = p.installAll(ctx, s, packages.Layers{l}, tell)
	if err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "(constraint)") {
		if err := tell("these packages need other versions than the session has, which are replaced\n"); err != nil {
			return nil, err
		}
		return alone, p.installAll(ctx, s, packages.Layers{alone}, tell)
	}
	return l, err
}

func manifestOf(r pkgsocket.Request) (files []yurt.SourceFile) {
	if len(r.Manifest) > 0 {
		files = append(files, yurt.SourceFile{Path: pkgsocket.ManifestFile, Data: r.Manifest})
	}
	if len(r.Lock) > 0 {
		files = append(files, yurt.SourceFile{Path: pkgsocket.LockFile, Data: r.Lock})
	}
	return files
}

// had are the packages that a session has of one package manager before an installation: distributions of
// Python, by normalized name, or packages of Node.
type had struct {
	manager string
	dists   map[string]string // the session sees this version
}

// installedIn returns the packages that commands of the session installed, and the template's.
func (p *provisioner) installedIn(s *Handle, runtime string) (*had, error) {
	h := &had{manager: pkgsocket.Npm, dists: make(map[string]string)}
	digests := s.InstalledLayers(runtime)
	if runtime == "python" {
		h.manager = pkgsocket.Pip
		if template := s.TemplateLayer(runtime); s.HasLayers(template) && len(template) > 0 {
			digests = append(digests, template[0].Digest)
		}
	}
	for _, digest := range digests {
		dists, err := h.of(p.node.layers.Tree(digest))
		if err != nil {
			return nil, err
		}
		for name, version := range dists {
			if _, newer := h.dists[name]; !newer {
				h.dists[name] = version
			}
		}
	}
	return h, nil
}

// of returns the packages in a layer. Of Node's it returns those that were asked for.
func (h *had) of(tree string) (map[string]string, error) {
	if h.manager == pkgsocket.Pip {
		return packages.Dists(tree)
	}
	return packages.Modules(tree)
}

// all returns the packages of the request if the session has each of them, and nil otherwise.
func (h *had) all(r pkgsocket.Request) (there []pkgsocket.Package) {
	if h.manager != pkgsocket.Pip || r.Upgrade {
		return nil
	}
	for _, p := range r.Packages {
		name, rest := nameOf(p)
		version, has := h.dists[packages.Normalized(name)]
		if !has || rest != "" && rest != "=="+version {
			return nil
		}
		there = append(there, pkgsocket.Package{Name: name, Version: version})
	}
	return there
}

// nameOf takes the name of a distribution off the beginning of a requirement of pip.
func nameOf(requirement string) (name, rest string) {
	at := strings.IndexAny(requirement, "[(<>=!~; ")
	if at < 0 {
		return requirement, ""
	}
	return requirement[:at], strings.ReplaceAll(requirement[at:], " ", "")
}

// fits reports whether a layer has no package that the session has in another version, apart from
// those of the request.
func (h *had) fits(tree string, r pkgsocket.Request) bool {
	if h.manager == pkgsocket.Npm { // each package of Node finds its own dependencies
		return true
	}
	dists, err := packages.Dists(tree)
	if err != nil {
		return false
	}
	asked := h.asked(r)
	for name, version := range dists {
		if had, there := h.dists[name]; there && had != version && !asked[name] {
			return false
		}
	}
	return true
}

func (h *had) asked(r pkgsocket.Request) map[string]bool {
	asked := make(map[string]bool)
	for _, p := range r.Packages {
		name, _ := nameOf(p)
		asked[packages.Normalized(name)] = true
	}
	return asked
}

// constraints returns the path of a file that keeps pip to the session's versions; "" if the session has no packages.
func (h *had) constraints(r pkgsocket.Request) string {
	if h.manager == pkgsocket.Npm {
		return ""
	}
	asked := h.asked(r)
	var lines []string
	for name, version := range h.dists {
		if !asked[name] {
			lines = append(lines, name+"=="+version+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// answer names the packages of the request, with their versions.
func (h *had) answer(r pkgsocket.Request, tree string) (answer pkgsocket.Answer, err error) {
	dists, err := h.of(tree)
	if err != nil {
		return answer, err
	}
	asked := h.asked(r)
	for name, version := range dists {
		if h.manager == pkgsocket.Npm || asked[name] {
			answer.Installed = append(answer.Installed, pkgsocket.Package{Name: name, Version: version})
		}
		if had, there := h.dists[name]; there && had != version {
			answer.Replaced = append(answer.Replaced, pkgsocket.Package{Name: name, Version: had})
		}
	}
	for _, list := range [][]pkgsocket.Package{answer.Installed, answer.Replaced} {
		slices.SortFunc(list, func(a, b pkgsocket.Package) int { return strings.Compare(a.Name, b.Name) })
	}
	return answer, nil
}
