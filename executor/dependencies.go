package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/plugins"
)

const (
	// installDir is where packages are installed, in a sandbox for that alone.
	installDir = yurt.WorkspaceDir + "/install"
	// layersDir holds a directory for each layer that a sandbox has, of its digest.
	layersDir = rootfs.RunDir + "/layers"
	// layerPlace stands in a plan for the directory of the layer: that is named after the
	// digest of the plan.
	layerPlace = layersDir + "/0000000000000000"
	// layerVersion is part of every digest: another way to make layers makes others.
	layerVersion = 1
)

// layerPlan is a layer that an execution needs, and how it is made.
type layerPlan struct {
	plugins.DependencyPlan
	runtime string
	digest  string
}

// mount is where sandboxes have the layer.
func (l *layerPlan) mount() string { return path.Join(layersDir, l.digest) }

// layerPlans are the layers that an execution needs.
type layerPlans []*layerPlan

// planLayers returns what the execution needs: what is asked for in dependencies, by its
// template, or by the manifests among the files of a project. Code has one layer with all
// of that. A command has those of its template's languages.
func (e *Executor) planLayers(ctx context.Context, s *sandbox, spec yurt.ExecutionSpec) (layerPlans, error) {
	ofTemplate := s.record.Spec.Template.Dependencies
	switch {
	case spec.Kind == yurt.KindCommand || isFunction(spec):
		return e.templateLayers(ctx, s)
	case len(ofTemplate) == 0 && len(spec.Dependencies) == 0 && len(spec.Files) == 0:
		return nil, nil
	}
	info, err := e.runtimeOf(ctx, spec.Language, s.record.Spec.Template.Runtimes)
	if err != nil {
		return nil, err
	}
	always := ofTemplate[info.Name]
	asked := len(spec.Dependencies) > 0 || len(always) > 0
	if !asked && (e.config.Packages.Off || !slices.Contains(info.Abilities, plugins.AbilityDependencies)) {
		return nil, nil
	}
	l, err := e.planCode(ctx, s, info, always, spec)
	if err != nil || l == nil {
		return nil, err
	}
	return layerPlans{l}, nil
}

// planCode plans the one layer of code: with what its template always has.
func (e *Executor) planCode(ctx context.Context, s *sandbox, info yurt.RuntimeInfo, always []string, spec yurt.ExecutionSpec) (*layerPlan, error) {
	l, err := e.planLayer(ctx, s, info, slices.Concat(always, spec.Dependencies), spec.Files)
	if yurt.CodeOf(err) == yurt.CodeInvalidArgument && len(always) > 0 && len(spec.Files) > 0 {
		// The manifest of a project may stand alone: for crates and for Maven.
		return e.planLayer(ctx, s, info, spec.Dependencies, spec.Files)
	}
	return l, err
}

// templateLayers returns what every command in the sandbox has.
func (e *Executor) templateLayers(ctx context.Context, s *sandbox) (layerPlans, error) {
	template := s.record.Spec.Template
	if len(template.Dependencies) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	planned := s.planned
	s.mu.Unlock()
	if planned != nil { // nothing that they are made from changes
		return planned, nil
	}
	planned, err := e.layersOf(ctx, s, template)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.planned = planned
	s.mu.Unlock()
	return planned, nil
}

// layersOf plans the layers of a template in a sandbox of its file system.
func (e *Executor) layersOf(ctx context.Context, s *sandbox, template yurt.Template) (planned layerPlans, err error) {
	for _, name := range slices.Sorted(maps.Keys(template.Dependencies)) {
		info, err := e.runtimeOf(ctx, name, template.Runtimes)
		if err != nil {
			return nil, err
		}
		l, err := e.planLayer(ctx, s, info, template.Dependencies[name], nil)
		if err != nil {
			return nil, err
		}
		if l != nil {
			planned = append(planned, l)
		}
	}
	return planned, nil
}

// planLayer has the runtime plan a layer; nil means that nothing is needed.
func (e *Executor) planLayer(ctx context.Context, s *sandbox, info yurt.RuntimeInfo, required []string, files []yurt.SourceFile) (*layerPlan, error) {
	switch {
	case !slices.Contains(info.Abilities, plugins.AbilityDependencies):
		return nil, yurt.FieldErrorf(yurt.CodeNotSupported, "dependencies", "no packages can be installed for %s; leave them out", info.Name)
	case e.config.Packages.Off:
		return nil, yurt.FieldErrorf(yurt.CodeNotSupported, "dependencies", "this node installs no packages; use a template that has them, or ask its operator")
	}
	tools, err := s.tools(info)
	if err != nil {
		return nil, err
	}
	plan, err := e.runtimes.PlanDependencies(ctx, plugins.DependencyRequest{
		Language: info.Name, Requirements: required, Files: sourceFiles(files), Dir: installDir, Mount: layerPlace, Tools: tools,
	})
	if err != nil || plan.Empty() {
		return nil, err
	}
	l := &layerPlan{DependencyPlan: plan, runtime: info.Name}
	if l.digest, err = e.layerDigest(s, info, tools, plan); err != nil {
		return nil, err
	}
	l.settle()
	return l, nil
}

// mount is where the sandbox has the packages of code; "" where it needs none.
func (n layerPlans) mount() string {
	if len(n) == 0 {
		return ""
	}
	return n[0].mount()
}

// addTo returns the execution with the environment that finds the layers.
func (n layerPlans) addTo(spec yurt.ExecutionSpec) yurt.ExecutionSpec {
	for _, l := range n {
		spec = l.addTo(spec)
	}
	return spec
}

// layerDigest names the layer after everything that it is made from: what the plan says,
// the registries, the template's file system, and the very tools in it.
func (e *Executor) layerDigest(s *sandbox, info yurt.RuntimeInfo, tools map[string]string, plan plugins.DependencyPlan) (string, error) {
	stamps, err := s.toolStamps(tools)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal([]any{layerVersion, info.Name, info.Version, s.record.Spec.Template.RootFS, stamps, e.config.Packages.Env, plan})
	if err != nil {
		return "", yurt.Errorf(yurt.CodeInternal, "naming a layer: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// toolStamps tell one installation of a tool from the next of the same path.
func (s *sandbox) toolStamps(tools map[string]string) ([]string, error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", s.record.Init.PID), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeSandboxFailed, "looking at the tools in sandbox %s: %w", s.id, err)
	}
	defer unix.Close(root)
	var stamps []string
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		fd, err := unix.Openat2(root, tools[name], &how)
		if err != nil {
			return nil, yurt.Errorf(yurt.CodeSandboxFailed, "looking at %s in sandbox %s: %w", name, s.id, err)
		}
		var stat unix.Stat_t
		err = unix.Fstat(fd, &stat)
		unix.Close(fd)
		if err != nil {
			return nil, yurt.Errorf(yurt.CodeSandboxFailed, "looking at %s in sandbox %s: %w", name, s.id, err)
		}
		stamps = append(stamps, fmt.Sprintf("%s %s %d %d", name, tools[name], stat.Size, stat.Mtim.Nano()))
	}
	return stamps, nil
}

// settle puts the directory of the layer where the plan has its stand-in.
func (l *layerPlan) settle() {
	at := strings.NewReplacer(layerPlace, l.mount())
	l.Argv = slices.Clone(l.Argv)
	for i, arg := range l.Argv {
		l.Argv[i] = at.Replace(arg)
	}
	for _, env := range []map[string]string{l.Env, l.RunEnv} {
		for name, value := range env {
			env[name] = at.Replace(value)
		}
	}
}

// addTo returns the execution with the environment that finds the layer. What its owner
// says wins, except that lists of directories become longer.
func (l *layerPlan) addTo(spec yurt.ExecutionSpec) yurt.ExecutionSpec {
	env := maps.Clone(l.RunEnv)
	if env == nil {
		env = make(map[string]string)
	}
	for name, value := range spec.Env {
		if had := env[name]; had != "" && value != "" && strings.HasSuffix(name, "PATH") {
			value += ":" + had
		}
		env[name] = value
	}
	spec.Env = env
	return spec
}
