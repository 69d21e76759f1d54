package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestProcessThatBecomesAnother: the name and the arguments of a process are of one program, also while it
// calls execve again and again.
func TestProcessThatBecomesAnother(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := os.Symlink(shell, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const other = `exec "$1" -c "$0" "$0" "$2" "$1"`
	cmd := exec.CommandContext(t.Context(), "./one", "-c", other, other, "./two", "./one")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID} // as in a sandbox
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // says that it was killed
	}()
	seen := map[string]int{}
	for begun := time.Now(); time.Since(begun) < 500*time.Millisecond; {
		p, ok := describe(cmd.Process.Pid)
		if !ok {
			t.Fatal("the process is gone")
		}
		if len(p.Args) > 0 {
			seen[fmt.Sprint(p.Name, " ", p.Args[0])]++
		}
	}
	if len(seen) != 2 || seen["one ./one"] == 0 || seen["two ./two"] == 0 {
		t.Errorf("names and first arguments, with how often each was seen: %v; want one ./one and two ./two alone", seen)
	}
}
