// Package leftovers finds the traces of a server on the machine: its processes, those in its
// sandboxes, its mounts, cgroups and sandbox directories. Tests and the demo use it to show that no
// traces stay behind, and while the server runs that they would be found.
package leftovers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Inventory lists the traces at one moment.
type Inventory struct {
	Processes   []Process
	Mounts      []string // lines of mountinfo
	Cgroups     []string // directories
	Directories []string // of sandboxes, in the state directory and the runtime directory
}

// Process is one process.
type Process struct {
	PID  int
	Exe  string // the path of its program, which may have been replaced
	Name string // under which it was started
}

// IsExecutor tells the executor of a server from its broker, which has the same program.
func (p Process) IsExecutor() bool { return strings.HasSuffix(p.Name, " (executor)") }

// Count returns how many things are there altogether.
func (i Inventory) Count() int {
	return len(i.Processes) + len(i.Mounts) + len(i.Cgroups) + len(i.Directories)
}

// String lists the traces, a line each.
func (i Inventory) String() string {
	var b strings.Builder
	for _, p := range i.Processes {
		fmt.Fprintf(&b, "process %d %s\n", p.PID, p.Exe)
	}
	for _, list := range []struct {
		kind  string
		items []string
	}{{"mount", i.Mounts}, {"cgroup", i.Cgroups}, {"directory", i.Directories}} {
		for _, item := range list.items {
			fmt.Fprintf(&b, "%s %s\n", list.kind, item)
		}
	}
	return b.String()
}

// Of returns the traces of the server on stateDir. A server has to be started with its state
// directory among its arguments or in its environment, which its helpers inherit; package devserver
// does both.
func Of(stateDir string) (Inventory, error) {
	var (
		i   Inventory
		err error
	)
	group := groupOf(stateDir)
	if i.Processes, err = processes(stateDir, group); err != nil {
		return i, err
	}
	if i.Mounts, err = mounts(stateDir); err != nil {
		return i, err
	}
	i.Cgroups = cgroups(group)
	i.Directories, err = directories(stateDir)
	return i, err
}

// RunDir returns the runtime directory of the server on stateDir.
func RunDir(stateDir string) string {
	if dir, err := os.Readlink(filepath.Join(stateDir, "run")); err == nil {
		return dir
	}
	return filepath.Join("/run", groupOf(stateDir)) // where it is unless the server was told
}

// groupOf names the server's cgroup, and its runtime directory, as package executor does.
func groupOf(stateDir string) string {
	sum := sha256.Sum256([]byte(stateDir))
	return "yurt-" + hex.EncodeToString(sum[:6])
}

// directories finds those of sandboxes.
func directories(stateDir string) ([]string, error) {
	var found []string
	for _, dir := range []string{stateDir, RunDir(stateDir)} {
		some, err := filepath.Glob(filepath.Join(dir, "sandboxes", "*"))
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// Gone waits until the server on stateDir has no traces, or returns those that are left after the
// given time: killed processes take a moment to be gone.
func Gone(ctx context.Context, stateDir string, within time.Duration) (Inventory, error) {
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		left, err := Of(stateDir)
		if err != nil || left.Count() == 0 || time.Now().After(deadline) || ctx.Err() != nil {
			return left, err
		}
	}
}

// processes finds those in the server's cgroups, and those that were told of its
// state directory.
func processes(stateDir, group string) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for processes: %w", err)
	}
	var found []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", entry.Name())
		exe, err := os.Readlink(filepath.Join(dir, "exe"))
		if err != nil {
			continue // a kernel thread, or gone meanwhile
		}
		if mentions(filepath.Join(dir, "cgroup"), group) || mentions(filepath.Join(dir, "cmdline"), stateDir) || mentions(filepath.Join(dir, "environ"), stateDir) {
			exe = strings.TrimSuffix(exe, " (deleted)") // as the kernel marks a replaced file
			found = append(found, Process{PID: pid, Exe: exe, Name: nameOf(dir)})
		}
	}
	return found, nil
}

// nameOf returns the name under which a process was started; "" for one that is gone.
func nameOf(dir string) string {
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(line), "\x00")
	return name
}

// Executor returns the executor of a broker, once there is one that is not the former one.
func Executor(broker, former int, within time.Duration) (int, error) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", broker))
		if err != nil {
			return 0, err
		}
		for _, file := range children {
			list, err := os.ReadFile(file)
			if err != nil {
				continue // that thread has ended
			}
			for child := range strings.FieldsSeq(string(list)) {
				pid, err := strconv.Atoi(child)
				if err == nil && pid != former && (Process{Name: nameOf("/proc/" + child)}).IsExecutor() {
					return pid, nil
				}
			}
		}
	}
	return 0, fmt.Errorf("process %d has no executor but %d after %s", broker, former, within)
}

// mentions reports whether a file of a process holds the text; false for a process that is gone
// meanwhile.
func mentions(file, text string) bool {
	data, err := os.ReadFile(file)
	return err == nil && bytes.Contains(data, []byte(text))
}

func mounts(stateDir string) ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking for mounts: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, stateDir) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, nil
}

func cgroups(group string) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.Contains(path, group) {
			found = append(found, path)
		}
		return nil // a process that cannot be read has ended meanwhile
	})
	return found
}
