package executor

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// tools returns where the tools of a runtime are in the sandbox, by name. One that is
// needed and not there is an error that says what to install. What a template is made
// of does not change, so each runtime is looked for once.
func (s *sandbox) tools(info yurt.RuntimeInfo) (map[string]string, error) {
	s.mu.Lock()
	found, known := s.found[info.Name]
	s.mu.Unlock()
	if known {
		return found, nil
	}
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", s.record.Init.PID), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeSandboxFailed, "looking for the tools of %s in sandbox %s: %w", info.Name, s.id, err)
	}
	defer unix.Close(root)
	found = make(map[string]string, len(info.Tools))
	for _, tool := range info.Tools {
		at, err := firstProgram(root, tool.Paths)
		if err != nil {
			return nil, yurt.Errorf(yurt.CodeSandboxFailed, "looking for %s in sandbox %s: %w", tool.Name, s.id, err)
		}
		switch {
		case at != "":
			found[tool.Name] = at
		case !tool.Optional:
			return nil, missingTool(s.record.Spec.Template.Name, info.Name, tool)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		s.found = make(map[string]map[string]string)
	}
	s.found[info.Name] = found
	return found, nil
}

func missingTool(template, runtime string, tool yurt.Tool) error {
	return yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "language", "template %s has no %s, which %s needs: it is at none of %s; %s",
		template, tool.Name, runtime, strings.Join(tool.Paths, ", "), tool.Install)
}

// firstProgram returns the first path below root that is an executable file. Links are
// followed as the sandbox sees them, and never out of it.
func firstProgram(root int, paths []string) (string, error) {
	for _, path := range paths {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		fd, err := unix.Openat2(root, path, &how)
		if err != nil {
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP) {
				continue
			}
			return "", fmt.Errorf("opening %s: %w", path, err)
		}
		var stat unix.Stat_t
		err = unix.Fstat(fd, &stat)
		unix.Close(fd)
		if err != nil {
			return "", fmt.Errorf("looking at %s: %w", path, err)
		}
		if stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Mode&0o111 != 0 {
			return path, nil
		}
	}
	return "", nil
}
