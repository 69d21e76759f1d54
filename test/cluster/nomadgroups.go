package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// sharedGroups are the cgroups that all Nomad clients of a machine have in common, since Nomad
// takes no other name for them and never removes them. The harness's last client does, in any
// process, unless they were there before the first.
type sharedGroups struct {
	lock *os.File // held shared by each client; says [madeHere] if they are the harness's
	tops []string
}

// madeHere is the text of the lock's file then.
const madeHere = "made by a test"

// nomadGroups are those on cgroup v1, of which the driver exec has one in each hierarchy, and
// on v2.
func nomadGroups() []string {
	groups := []string{"/sys/fs/cgroup/nomad.slice"}
	hierarchies, _ := filepath.Glob("/sys/fs/cgroup/*") // the pattern is right
	for _, hierarchy := range hierarchies {
		groups = append(groups, filepath.Join(hierarchy, "nomad"))
	}
	return groups
}

// shareNomadGroups is called before a client is started, and the answer closed when it has ended.
func shareNomadGroups() (*sharedGroups, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		cache = filepath.Join(cache, "yurt-test")
		err = os.MkdirAll(cache, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("sharing Nomad's cgroups: %w", err)
	}
	return shareGroups(filepath.Join(cache, "nomad-cgroups"), nomadGroups())
}

func shareGroups(path string, tops []string) (_ *sharedGroups, err error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sharing Nomad's cgroups: %w", err)
	}
	s := &sharedGroups{lock: lock, tops: tops}
	if s.try(unix.LOCK_EX) && !slices.ContainsFunc(tops, isThere) { // there is no other client of ours
		_, err = lock.WriteAt([]byte(madeHere), 0)
	}
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_SH) // waits for one that removes them
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sharing Nomad's cgroups: %w", err), lock.Close())
	}
	return s, nil
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// try takes the lock, unless another has it.
func (s *sharedGroups) try(how int) bool {
	return unix.Flock(int(s.lock.Fd()), how|unix.LOCK_NB) == nil
}

// ours reports whether the harness made the groups.
func (s *sharedGroups) ours() bool {
	text := make([]byte, len(madeHere))
	n, _ := s.lock.ReadAt(text, 0) // an empty file says that it did not
	return string(text[:n]) == madeHere
}

// Close gives them up, and removes them if no other client has them.
func (s *sharedGroups) Close() error {
	if s == nil {
		return nil
	}
	if !s.try(unix.LOCK_EX) || !s.ours() {
		return s.lock.Close()
	}
	for _, top := range s.tops {
		for _, dir := range cgroupsIn(top) {
			_ = os.Remove(dir) // with a process inside it stays: that is not of a client that has ended
		}
	}
	return errors.Join(s.lock.Truncate(0), s.lock.Close())
}
