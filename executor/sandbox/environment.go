package sandbox

import (
	"maps"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/rootfs"
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
