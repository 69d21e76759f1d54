package sandbox

import (
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/tools"
)

// Tools returns the paths of a runtime's tools in the sandbox, by name. A missing tool is an error that names the
// packages to install. The files of a template do not change, so each runtime is searched once.
func (s *Sandbox) Tools(info yurt.RuntimeInfo) (map[string]string, error) {
	s.mu.Lock()
	found, known := s.found[info.Name]
	s.mu.Unlock()
	if known {
		return found, nil
	}
	root, err := s.Broker.Open(s.Named(), broker.Root)
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
