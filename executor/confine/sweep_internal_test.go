package confine

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestSweep: the cgroup of a dead process is removed, with the programs in it. One of another namespace stays, where the number may
// be that of a living process.
func TestSweep(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("cgroups need root")
	}
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	space, _, _ := strings.Cut(s.owner, ".")
	dead := exec.CommandContext(t.Context(), "true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	number := strconv.Itoa(dead.Process.Pid)
	for _, c := range []struct {
		space string
		stays bool
	}{{space, false}, {"1" + space, true}} {
		group, err := s.groups.NewProgram(c.space+"."+number+"-sweep-"+strconv.Itoa(os.Getpid()), Memory, Processes)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.sweep(); err != nil {
			t.Error(err)
		}
		_, err = group.Killed()
		if stays := err == nil; stays != c.stays {
			t.Errorf("the cgroup of a process in the namespace %s stays: %t, want %t", c.space, stays, c.stays)
		}
		if err := s.remove(group); err != nil {
			t.Error(err)
		}
	}
}
