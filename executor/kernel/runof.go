package kernel

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
	"github.com/yurtrun/yurt/executor/run"
)

// RunOf returns the execution that a process of the sandbox is part of, by its cgroup; nil where
// it is not known.
func (s *Sandbox) RunOf(pid int) *run.Run {
	if pid <= 0 {
		return nil
	}
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		in := strings.TrimSpace(line)
		if !strings.Contains(in, s.ID()) {
			continue
		}
		if r := s.runNamed(filepath.Base(in)); r != nil {
			return r
		}
	}
	return nil
}

// runNamed returns the execution in the cgroup of the name: its own, or that of a kernel.
func (s *Sandbox) runNamed(leaf string) *run.Run {
	contexts := s.contextsNamed("", "")
	r := s.Find(leaf)
	for i := 0; r == nil && i < len(contexts); i++ {
		if p, id := contexts[i].Current(); isKernel(p, leaf) {
			r = s.Find(id)
		}
	}
	if r == nil || r.Record.Unlimited() {
		return nil
	}
	return r
}

// isKernel reports whether the process is that kernel.
func isKernel(p protocol.Process, id string) bool {
	k, ok := p.(*kernelProcess)
	return ok && k.id == id
}
