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

// planLayer returns what the execution needs, or nil if that is nothing. It is asked for
// in dependencies, or by the manifests among the files of a project.
func (e *Executor) planLayer(ctx context.Context, s *sandbox, spec yurt.ExecutionSpec) (*layerPlan, error) {
	if spec.Kind == yurt.KindCommand || len(spec.Dependencies) == 0 && len(spec.Files) == 0 {
		return nil, nil
	}
	info, err := e.runtimeOf(ctx, spec.Language, s.record.Spec.Template.Runtimes)
	if err != nil {
		return nil, err
	}
	asked := len(spec.Dependencies) > 0
	switch able := slices.Contains(info.Abilities, plugins.AbilityDependencies); {
	case asked && !able:
		return nil, yurt.FieldErrorf(yurt.CodeNotSupported, "dependencies", "no packages can be installed for %s; leave them out", info.Name)
	case asked && e.config.Packages.Off:
		return nil, yurt.FieldErrorf(yurt.CodeNotSupported, "dependencies", "this node installs no packages; use a template that has them, or ask its operator")
	case !able || e.config.Packages.Off:
		return nil, nil
	}
	tools, err := s.tools(info)
	if err != nil {
		return nil, err
	}
	plan, err := e.runtimes.PlanDependencies(ctx, plugins.DependencyRequest{
		Language: info.Name, Requirements: spec.Dependencies, Files: sourceFiles(spec.Files), Dir: installDir, Mount: layerPlace, Tools: tools,
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
