package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/tools"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/host"
)

const (
	// installDir is where packages are installed, in a sandbox for that alone.
	installDir = yurt.WorkspaceDir + "/install"
	// layerVersion is part of every digest: another way to make layers makes others.
	layerVersion = 1
)

// planner plans the dependency layers of sandboxes and executions.
type planner struct {
	packages packages.Config
	runtimes *host.Host
	runs     *run.Engine
}

// planLayers returns the layers that the execution needs: for its own dependencies, those of its
// template, and the manifests among the files of a project. Code has one layer with all
// of that. A command has those of its template's languages, and so has a function with a
// process of its own, whose dependencies are in the layer of their language.
func (p *planner) planLayers(ctx context.Context, s *sandbox.Sandbox, spec yurt.ExecutionSpec) (packages.Layers, error) {
	ofTemplate := s.Record.Spec.Template.Dependencies
	if err := withoutForbidden(s, &spec); err != nil {
		return nil, err
	}
	switch {
	case kernel.IsFunction(spec) && len(spec.Dependencies) > 0:
		return p.planFunctionLayers(ctx, s, spec)
	case spec.Kind == yurt.KindCommand || kernel.IsFunction(spec):
		return p.templateLayers(ctx, s)
	case len(ofTemplate) == 0 && len(spec.Dependencies) == 0 && len(spec.Files) == 0:
		return nil, nil
	}
	info, err := p.runs.RuntimeOf(ctx, spec.Language, s.Record.Spec.Template.Runtimes)
	if err != nil {
		return nil, err
	}
	if len(spec.Dependencies) == 0 && len(spec.Files) == 0 { // the layers are planned once, which each cell of a context would wait for
		if needs, err := p.templateLayers(ctx, s); err == nil {
			return ofRuntime(needs, info.Name), nil
		} // it may be those of another language that cannot be planned
	}
	return p.planCode(ctx, s, info, ofTemplate[info.Name], spec)
}

// ofRuntime returns the layers of one runtime.
func ofRuntime(all packages.Layers, name string) (own packages.Layers) {
	for _, l := range all {
		if l.Runtime == name {
			own = append(own, l)
		}
	}
	return own
}

// withoutForbidden refuses the packages that an execution asks for, where its template forbids them.
func withoutForbidden(s *sandbox.Sandbox, spec *yurt.ExecutionSpec) error {
	if s.Record.Spec.Template.Network.Packages != yurt.PackagesNone {
		return nil
	}
	if len(spec.Dependencies) > 0 {
		return yurt.FieldErrorf(yurt.CodeForbidden, "dependencies", "template %s lets its sessions install no packages (network.packages is %q); leave them out, or name them in the template", s.Template, yurt.PackagesNone)
	}
	spec.Files = nil // no manifest counts
	return nil
}

// planFunctionLayers plans the layers of a function that names dependencies.
func (p *planner) planFunctionLayers(ctx context.Context, s *sandbox.Sandbox, spec yurt.ExecutionSpec) (packages.Layers, error) {
	needs, err := p.templateLayers(ctx, s)
	if err != nil {
		return nil, err
	}
	template := s.Record.Spec.Template
	info, err := p.runs.RuntimeOf(ctx, spec.Language, template.Runtimes)
	if err != nil {
		return nil, err
	}
	own, err := p.planLayer(ctx, s, info, slices.Concat(template.Dependencies[info.Name], spec.Dependencies), nil)
	if err != nil || own == nil {
		return needs, err
	}
	others := slices.DeleteFunc(slices.Clone(needs), func(l *packages.Layer) bool { return l.Runtime == info.Name })
	return append(packages.Layers{own}, others...), nil
}

// planCode plans the one layer of code, with the packages of its template. There may be no layer.
func (p *planner) planCode(ctx context.Context, s *sandbox.Sandbox, info yurt.RuntimeInfo, always []string, spec yurt.ExecutionSpec) (packages.Layers, error) {
	asked := len(spec.Dependencies) > 0 || len(always) > 0
	if !asked && (p.packages.Off || !slices.Contains(info.Abilities, plugins.AbilityDependencies)) {
		return nil, nil
	}
	l, err := p.planLayer(ctx, s, info, slices.Concat(always, spec.Dependencies), spec.Files)
	if yurt.CodeOf(err) == yurt.CodeInvalidArgument && len(always) > 0 && len(spec.Files) > 0 {
		// The manifest of a project may stand alone: for crates and for Maven.
		l, err = p.planLayer(ctx, s, info, spec.Dependencies, spec.Files)
	}
	if err != nil || l == nil {
		return nil, err
	}
	return packages.Layers{l}, nil
}

// Plan implements [kernel.Planner].
func (p *planner) Plan(ctx context.Context, s *sandbox.Sandbox) error {
	_, err := p.templateLayers(ctx, s)
	return err
}

// templateLayers returns the layers that every command in the sandbox has.
func (p *planner) templateLayers(ctx context.Context, s *sandbox.Sandbox) (packages.Layers, error) {
	template := s.Record.Spec.Template
	if len(template.Dependencies) == 0 {
		return nil, nil
	}
	s.Lock()
	planned := s.Planned
	s.Unlock()
	if planned != nil { // the template and its tools do not change
		return planned, nil
	}
	planned, err := p.layersOf(ctx, s, template)
	if err != nil {
		return nil, err
	}
	s.Lock()
	s.Planned = planned
	s.Unlock()
	return planned, nil
}

// layersOf plans the layers of a template in a sandbox of its file system.
func (p *planner) layersOf(ctx context.Context, s *sandbox.Sandbox, template yurt.Template) (planned packages.Layers, err error) {
	for _, name := range slices.Sorted(maps.Keys(template.Dependencies)) {
		info, err := p.runs.RuntimeOf(ctx, name, template.Runtimes)
		if err != nil {
			return nil, err
		}
		l, err := p.planLayer(ctx, s, info, template.Dependencies[name], nil)
		if err != nil {
			return nil, err
		}
		if l != nil {
			planned = append(planned, l)
		}
	}
	return planned, nil
}

// planLayer has the runtime plan a layer; nil means that no package is needed.
func (p *planner) planLayer(ctx context.Context, s *sandbox.Sandbox, info yurt.RuntimeInfo, required []string, files []yurt.SourceFile) (*packages.Layer, error) {
	switch {
	case !slices.Contains(info.Abilities, plugins.AbilityDependencies):
		return nil, yurt.FieldErrorf(yurt.CodeNotSupported, "dependencies", "no packages can be installed for %s; leave them out", info.Name)
	case p.packages.Off:
		return nil, yurt.FieldErrorf(yurt.CodeNotSupported, "dependencies", "this node installs no packages; use a template that has them, or ask its operator")
	}
	found, err := s.Tools(info)
	if err != nil {
		return nil, err
	}
	plan, err := p.runtimes.PlanDependencies(ctx, plugins.DependencyRequest{
		Language: info.Name, Requirements: required, Files: run.SourceFiles(files), Dir: installDir, Mount: packages.Place, Tools: found,
	})
	if err != nil || plan.Empty() {
		return nil, err
	}
	digest, err := p.layerDigest(s, info, found, plan)
	if err != nil {
		return nil, err
	}
	return packages.NewLayer(info.Name, digest, plan), nil
}

// layerDigest names the layer after all that it is made from: the plan,
// the registries, the template's file system, and the very tools in it.
func (p *planner) layerDigest(s *sandbox.Sandbox, info yurt.RuntimeInfo, found map[string]string, plan plugins.DependencyPlan) (string, error) {
	root, err := s.OpenPlace(broker.Root)
	if err != nil {
		return "", yurt.Errorf(yurt.CodeSandboxFailed, "looking at the tools in sandbox %s: %w", s.ID(), err)
	}
	defer root.Close()
	stamps, err := tools.Stamps(root, found)
	if err != nil {
		return "", yurt.Errorf(yurt.CodeSandboxFailed, "looking at the tools in sandbox %s: %w", s.ID(), err)
	}
	if s.Record.Image != "" {
		stamps = append(stamps, "image "+s.Record.Image)
	}
	data, err := json.Marshal([]any{layerVersion, info.Name, info.Version, s.Record.Spec.Template.RootFS, stamps, p.packages.Env, plan})
	if err != nil {
		return "", yurt.Errorf(yurt.CodeInternal, "naming a layer: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
