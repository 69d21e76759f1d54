package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// warmed returns a sandbox of the reserve and its workspace as the host sees it. The template's
// preloaded code may have done there all that its user can.
func warmed(t *testing.T, a *arena) (spec yurt.SandboxSpec, workspace string) {
	t.Helper()
	s, err := a.ReserveSandbox(t.Context(), testutil.Template())
	if err != nil {
		t.Fatal(err)
	}
	return testutil.Spec(), fmt.Sprintf("/proc/%d/root%s", s.PID, yurt.WorkspaceDir)
}

// asOwner does something in a workspace as its user, for whom alone the kernel makes files there.
func asOwner(t *testing.T, workspace string, do func() error) {
	t.Helper()
	var owner unix.Stat_t
	if err := unix.Stat(workspace, &owner); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with it
		_, gidErr := unix.SetfsgidRetGid(int(owner.Gid))
		_, uidErr := unix.SetfsuidRetUid(int(owner.Uid))
		done <- errors.Join(gidErr, uidErr, do())
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestFilesOfAClaim has a process that a template started before the claim lie in wait for the
// files that its owner begins with. They must go nowhere else, since the executor writes them below
// the workspace alone, as the sandbox's user.
func TestFilesOfAClaim(t *testing.T) {
	a := newArena(t)
	for _, trap := range []struct {
		name, target string
		file         string // that is asked for
	}{
		{"a link for the file", "/tmp/planted", "a"},
		{"a link for its directory", "/tmp", "a/planted"},
		{"a link up", "../tmp", "a/planted"},
		{"a link to the host by a process", "/proc/1/root/tmp", "a/planted"},
		{"a link to the system", "/etc", "a/planted"},
		{"a link to itself", "a", "a/planted"},
	} {
		t.Run(trap.name, func(t *testing.T) {
			spec, workspace := warmed(t, a)
			asOwner(t, workspace, func() error { return os.Symlink(trap.target, filepath.Join(workspace, "a")) })
			spec.Files = []yurt.SourceFile{{Path: trap.file, Data: []byte("planted")}}
			s, found, err := a.ClaimSandbox(t.Context(), spec)
			var coded *yurt.Error
			switch {
			case err == nil && found:
				r := a.execute(t, s.ID, shell("find /tmp /etc -name 'planted*'; cat /workspace/"+trap.file))
				if r.Stdout != "planted" {
					t.Errorf("the claim was granted, and there is %q", r.Stdout)
				}
				if err := a.DestroySandbox(t.Context(), s.ID); err != nil {
					t.Error(err)
				}
			case !errors.As(err, &coded) || coded.Field != "files" || coded.Code == yurt.CodeInternal:
				t.Errorf("found %t, %v", found, err)
			}
			none(t, "/tmp/planted")
			onlyBystander(t, a)
		})
	}
	a.works(t, "the bystander", a.bystander)
}

// TestFilesOfAClaimInARace swaps a directory for a link while files are written into it.
func TestFilesOfAClaimInARace(t *testing.T) {
	a := newArena(t)
	mark := fmt.Sprintf("planted-%d", os.Getpid())
	for _, target := range []string{"/tmp", "../tmp", "/tmp", "../tmp"} { // of the host if resolved there, and of the sandbox
		spec, workspace := warmed(t, a)
		dir, link := filepath.Join(workspace, "d"), filepath.Join(workspace, "l")
		asOwner(t, workspace, func() error { return errors.Join(os.Mkdir(dir, 0o755), os.Symlink(target, link)) })
		for n := range yurt.MaxFiles {
			spec.Files = append(spec.Files, yurt.SourceFile{Path: fmt.Sprintf("d/%s-%d", mark, n), Data: []byte("planted")})
		}
		var (
			swaps   sync.WaitGroup
			swapped atomic.Int64
			swap    = make(chan struct{})
		)
		swaps.Go(func() {
			for {
				select {
				case <-swap:
					return
				default:
					if unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE) == nil {
						swapped.Add(1)
					}
				}
			}
		})
		testutil.Eventually(t, "they are swapped", func() bool { return swapped.Load() > 0 })
		s, found, err := a.ClaimSandbox(t.Context(), spec)
		close(swap)
		swaps.Wait()
		none(t, filepath.Join("/tmp", mark+"*"))
		if found {
			none(t, filepath.Join(filepath.Dir(workspace), "tmp", mark+"*"))
			if err := a.DestroySandbox(t.Context(), s.ID); err != nil {
				t.Error(err)
			}
		} else if err == nil || yurt.CodeOf(err) == yurt.CodeInternal {
			t.Errorf("the claim found nothing, and says %v", err)
		}
		onlyBystander(t, a)
	}
	a.works(t, "the bystander", a.bystander)
}

// none fails the test if files match a pattern, and removes them.
func none(t *testing.T, pattern string) {
	t.Helper()
	planted, err := filepath.Glob(pattern)
	if err != nil || len(planted) > 0 {
		t.Errorf("outside of the workspace there are %d files %s, %v", len(planted), pattern, err)
	}
	for _, path := range planted {
		os.Remove(path)
	}
}

// TestFilesOfAClaimThatAreTooMuch asks for as many directories as paths can name, and for more than
// there is room for. Afterwards no file is left.
func TestFilesOfAClaimThatAreTooMuch(t *testing.T) {
	a := newArena(t)
	for name, ask := range map[string]func(n int) yurt.SourceFile{
		"directories": func(n int) yurt.SourceFile {
			return yurt.SourceFile{Path: strings.Repeat(fmt.Sprintf("%d/", n), yurt.MaxFileDepth) + "f"}
		},
		"bytes": func(n int) yurt.SourceFile {
			return yurt.SourceFile{Path: fmt.Sprint(n), Data: make([]byte, yurt.MaxFilesBytes/yurt.MaxFiles)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec, _ := warmed(t, a)
			spec.Resources.Disk = yurt.MinDisk
			for n := range yurt.MaxFiles {
				spec.Files = append(spec.Files, ask(n))
			}
			if _, found, err := a.ClaimSandbox(t.Context(), spec); found || yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
				t.Errorf("found %t, %v", found, err)
			}
			onlyBystander(t, a)
		})
	}
	a.works(t, "the bystander", a.bystander)
}

// onlyBystander looks for remains of claims that failed, or are over.
func onlyBystander(t *testing.T, a *arena) {
	t.Helper()
	list, err := a.Sandboxes(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != a.bystander {
		t.Errorf("there are %+v, %v", list, err)
	}
}
