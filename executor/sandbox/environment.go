package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/executor/tools"
	"github.com/yurtrun/yurt/executor/trees"
)

// TemplateEnv is the environment that the image, and above it the template, gives to every process.
func (s *Sandbox) TemplateEnv() map[string]string {
	env := s.Record.Spec.Template.Env
	if s.Image == nil || len(s.Image.Env) == 0 {
		return s.withOffline(env)
	}
	merged := maps.Clone(s.Image.Env)
	maps.Copy(merged, env)
	return s.withOffline(merged)
}

// merge merges environments, later ones winning, over the defaults of every process.
func merge(layers ...map[string]string) map[string]string {
	merged := map[string]string{
		"PATH": defaultPath,
		"HOME": yurt.WorkspaceDir,
		"USER": rootfs.UserName,
		"LANG": "C.UTF-8",
	}
	for _, layer := range layers {
		maps.Copy(merged, layer)
	}
	return merged
}

// listed returns an environment as a process gets it.
func listed(merged map[string]string) []string {
	list := make([]string, 0, len(merged))
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		list = append(list, name+"="+merged[name])
	}
	return list
}

// offlineEnv is the environment of sandboxes without a network: package managers try once and give
// up, in place of a minute of retries.
func offlineEnv() map[string]string {
	return map[string]string{"PIP_RETRIES": "0", "NPM_CONFIG_FETCH_RETRIES": "0", "CARGO_NET_RETRY": "0"}
}

// Offline reports whether the sandbox has no network.
func (s *Sandbox) Offline() bool {
	return s.Record.Spec.Host == nil && s.Record.Spec.Template.Network.Mode == yurt.NetworkNone
}

// withOffline puts the environment of sandboxes without a network, if this is one, below env.
func (s *Sandbox) withOffline(env map[string]string) map[string]string {
	if !s.Offline() {
		return env
	}
	merged := offlineEnv()
	maps.Copy(merged, env)
	return merged
}

// Environment is that of a process in the sandbox, later layers winning. The toolchains'
// commands are at the end of PATH, whichever layer that is of.
func (s *Sandbox) Environment(layers ...map[string]string) []string {
	merged := withPath(merge(layers...), s.Record.Path)
	if s.Installable {
		packages.AddCommands(merged, s.IsOwnLayer())
	}
	return listed(merged)
}

// IsOwnLayer returns the function that reports whether a directory is a layer which the execution
// has for itself: one of the template's is not.
func (s *Sandbox) IsOwnLayer() func(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	template := s.Planned
	return func(dir string) bool {
		return strings.HasPrefix(dir, packages.LayersDir+"/") &&
			!slices.ContainsFunc(template, func(l *packages.Layer) bool { return strings.HasPrefix(dir, l.Mount()) })
	}
}

// defaultPath is the PATH of processes where no layer of their environment has one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// withPath returns env with the directories of the toolchains' commands at the end of PATH.
func withPath(env map[string]string, dirs []string) map[string]string {
	list := strings.Split(env["PATH"], ":")
	missing := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return slices.Contains(list, dir) })
	if len(missing) == 0 {
		return env
	}
	more := make(map[string]string, len(env)+1)
	for name, value := range env {
		more[name] = value
	}
	more["PATH"] = strings.Join(append(list, missing...), ":")
	return more
}

// Tools returns the paths of a runtime's tools in the sandbox, by name. A missing tool is an error that names the
// packages to install. The files of a template do not change, so each runtime is searched once.
func (s *Sandbox) Tools(info yurt.RuntimeInfo) (map[string]string, error) {
	s.mu.Lock()
	found, known := s.found[info.Name]
	s.mu.Unlock()
	if known {
		return found, nil
	}
	root, err := s.OpenPlace(broker.Root)
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeSandboxFailed, "looking for the tools of %s in sandbox %s: %w", info.Name, s.id, err)
	}
	defer root.Close()
	found, missing, err := tools.Find(root, info.Tools)
	switch {
	case err != nil:
		return nil, yurt.Errorf(yurt.CodeSandboxFailed, "looking for the tools of %s in sandbox %s: %w", info.Name, s.id, err)
	case missing != nil:
		return nil, yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "language", "template %s has no %s, which %s needs: it is at none of %s; %s",
			s.Record.Spec.Template.Name, missing.Name, info.Name, strings.Join(missing.Paths, ", "), missing.Install)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		s.found = make(map[string]map[string]string)
	}
	s.found[info.Name] = found
	return found, nil
}

// Kernel names the interpreter that the template chooses for contexts of the language; "" is
// the runtime's own.
func (s *Sandbox) Kernel(language string) string { return s.Record.Spec.Template.Kernel(language) }

// Preload returns the modules that a zygote of the language must import.
func (s *Sandbox) Preload(language string) []string {
	template := s.Record.Spec.Template
	if len(template.Runtimes) == 0 || template.Runtimes[0] != language {
		return nil
	}
	return template.Preload
}

// ImportsAhead reports whether a zygote of the language imports more than an interpreter has loaded
// anyway: modules that the template names, or the kernel that it chooses.
func (s *Sandbox) ImportsAhead(language string) bool {
	return len(s.Preload(language)) > 0 || s.Kernel(language) != ""
}

// maxLayers bounds how many layers a sandbox can have.
const maxLayers = 64

// MountLayers mounts each of the layers that is not mounted. The caller has the gate.
func (s *Sandbox) MountLayers(store *trees.Store, needs packages.Layers) error {
	for _, l := range needs {
		if err := s.MountLayer(store, l); err != nil {
			return err
		}
	}
	return nil
}

// MountLayer mounts the layer in the sandbox, if it is not. The caller has the gate. That
// the sandbox uses the layer is on the disk first: a next executor is to hold it too.
func (s *Sandbox) MountLayer(store *trees.Store, l *packages.Layer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, mounted := s.mounted[l.Digest]; mounted {
		return nil
	}
	if len(s.mounted) >= maxLayers {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "dependencies", "the session has used %d different lists of packages, as many as it may; put what it needs into one list, or use another session", maxLayers)
	}
	if there, err := store.Use(l.Digest, s.id); err != nil || !there {
		return errors.Join(packages.Removed(), err)
	}
	if !slices.Contains(s.Record.Layers, l.Digest) {
		record := s.Record
		record.Layers = append(slices.Clone(record.Layers), l.Digest)
		if err := records.Write(s.Path(statedir.Record), record); err != nil {
			return err
		}
		s.Record = record
	}
	if _, _, err := s.Plans.MakeDir(path.Join("layers", l.Digest), 0o755); err != nil {
		return fmt.Errorf("making the place of a layer: %w", err)
	}
	if err := s.Broker.Mount(s.id, broker.Tree{Layer: l.Digest}); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "giving sandbox %s its packages: %w", s.id, err)
	}
	s.noteMounted(l.Digest)
	return nil
}

// noteMounted is for the holder of s.mu, or before others know the sandbox.
func (s *Sandbox) noteMounted(digest string) {
	if s.mounted == nil {
		s.mounted = make(map[string]struct{})
	}
	s.mounted[digest] = struct{}{}
}

// AdoptLayers holds the layers of a sandbox that is taken over. One that was written down
// and not mounted yet is mounted when it is needed.
func (s *Sandbox) AdoptLayers(store *trees.Store) error {
	for _, digest := range s.Record.Layers {
		there, err := store.Use(digest, s.id)
		if err != nil {
			return err
		}
		shown, err := s.Broker.Shows(s.id, broker.Tree{Layer: digest})
		if shown && there && err == nil {
			s.noteMounted(digest)
		}
	}
	return nil
}

// InstalledLayers returns the layers that commands of the session had installed for a runtime, the
// latest first.
func (s *Sandbox) InstalledLayers(runtime string) (digests []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range slices.Backward(s.Record.Installed) {
		if l.Runtime == runtime {
			digests = append(digests, l.Digest)
		}
	}
	return digests
}

// TemplateLayer returns the packages of the template for code in the language, as far as the sandbox has asked for
// them: at most one layer.
func (s *Sandbox) TemplateLayer(language string) packages.Layers {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.Planned {
		if l.Runtime == language {
			return s.Planned[i : i+1]
		}
	}
	return nil
}

// HasLayers reports whether the layers are in the sandbox.
func (s *Sandbox) HasLayers(layers packages.Layers) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(layers, func(l *packages.Layer) bool {
		_, mounted := s.mounted[l.Digest]
		return !mounted
	})
}
