package workspace

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/inotify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testUser is a user that the host does not know.
const testUser = 1879048192 + 1000

const secret = "the canary"

// arena is a workspace, and beside it a directory that every user may read and write, so that permissions alone would
// not protect its files.
type arena struct {
	*Dir

	in, out string
	shared  *inotify.Shared
}

func newArena(t testing.TB) *arena {
	t.Helper()
	if testing.Short() {
		t.Skip("takes on another identity; run without -short")
	}
	top := t.TempDir()
	a := &arena{in: filepath.Join(top, "in"), out: filepath.Join(top, "out"), shared: inotify.New(MaxDirs)}
	for dir, mode := range map[string]fs.FileMode{top: 0o755, a.in: 0o755, a.out: 0o777} {
		if err := errors.Join(os.MkdirAll(dir, mode), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(a.in, testUser, testUser); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(a.out+"/canary", []byte(secret), 0o666), os.Chmod(a.out+"/canary", 0o666)); err != nil {
		t.Fatal(err)
	}
	dir, err := openAs(a.in)
	if err != nil {
		t.Fatal(err)
	}
	a.Dir = dir
	t.Cleanup(func() { dir.Close() })
	return a
}

// openAs opens the directory at a path as the user of a sandbox.
func openAs(path string) (*Dir, error) {
	top, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return Open(top, testUser, testUser)
}

// untouched fails the test if anything outside was read into data or changed.
func (a *arena) untouched(t testing.TB, data []byte) {
	t.Helper()
	if bytes.Contains(data, []byte(secret)) {
		t.Fatal("the canary was read")
	}
	canary, err := os.ReadFile(a.out + "/canary")
	entries, listErr := os.ReadDir(a.out)
	if err != nil || listErr != nil || string(canary) != secret || len(entries) != 1 {
		t.Fatalf("outside there is %v, the canary says %q (%v)", entries, canary, err)
	}
}

// play makes files of the kinds that a program in the sandbox could leave for the host to find.
func (a *arena) play(t testing.TB) {
	t.Helper()
	for name, target := range map[string]string{
		"abs": a.out, "rel": "../out", "file": "../out/canary", "root": "/", "up": "..", "proc": "/proc/self/root",
		"self": "self", "ping": "pong", "pong": "ping", "new": "../out/new", "inner": "dir/f", "deep": strings.Repeat("dir/../", 20) + "../out",
	} {
		if info, err := os.Lstat(filepath.Join(a.in, name)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		os.RemoveAll(filepath.Join(a.in, name))
		if err := os.Symlink(target, filepath.Join(a.in, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(a.in + "/fifo"); err != nil {
		if err := unix.Mkfifo(a.in+"/fifo", 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(a.in+"/dir", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.in+"/dir/f", []byte("inside"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(a.in, func(path string, _ fs.DirEntry, _ error) error { return os.Lchown(path, testUser, testUser) }); err != nil {
		t.Fatal(err)
	}
}

// clear removes all but links and the FIFO; it restores the files of [arena.play].
func (a *arena) clear(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(a.in)
	for _, entry := range entries {
		if entry.Type()&(fs.ModeSymlink|fs.ModeNamedPipe) == 0 {
			err = errors.Join(err, os.RemoveAll(filepath.Join(a.in, entry.Name())))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readAll(d *Dir, name string) ([]byte, error) {
	file, _, err := d.Read(name, yurt.Span{})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

func TestWriteAndRead(t *testing.T) {
	a := newArena(t)
	info, err := a.Write("a/b/c.txt", strings.NewReader("content"), 100, 0o640)
	if err != nil || info.Path != "a/b/c.txt" || info.Size != 7 || info.Mode != 0o640 {
		t.Fatalf("writing gave %+v, %v", info, err)
	}
	if data, err := readAll(a.Dir, "/workspace/a/b/c.txt"); err != nil || string(data) != "content" {
		t.Errorf("reading gave %q, %v", data, err)
	}
	err = filepath.WalkDir(a.in, func(path string, _ fs.DirEntry, _ error) error {
		var stat unix.Stat_t
		if err := unix.Lstat(path, &stat); err != nil || stat.Uid != testUser || stat.Gid != testUser {
			t.Errorf("%s belongs to %d:%d, %v", path, stat.Uid, stat.Gid, err)
		}
		if strings.HasPrefix(filepath.Base(path), ".yurt-") {
			t.Errorf("%s was left behind", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if stat, err := a.Stat("a/b"); err != nil || !stat.IsDir {
		t.Errorf("the directory is %+v, %v", stat, err)
	}
	if err := a.RemoveAll("a"); err != nil {
		t.Error(err)
	}
	if _, err := a.Stat("a"); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("after it was removed: %v", err)
	}
}

// failing is a source that ends with an error, as a client that goes away does.
type failing struct{ left int }

func (f *failing) Read(buf []byte) (int, error) {
	if f.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	f.left--
	return len(buf), nil
}

func TestWriteThatFailsLeavesTheOldFile(t *testing.T) {
	a := newArena(t)
	if _, err := a.Write("f", strings.NewReader("old"), 100, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		content io.Reader
		want    yurt.Code
	}{
		"more than the limit":     {strings.NewReader(strings.Repeat("x", 101)), yurt.CodeFileTooLarge},
		"without end":             {&failing{left: -1}, yurt.CodeFileTooLarge},
		"a source that goes away": {&failing{}, yurt.CodeInternal},
	} {
		if _, err := a.Write("f", tt.content, 100, 0o644); yurt.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if data, err := readAll(a.Dir, "f"); err != nil || string(data) != "old" {
			t.Errorf("%s: the file is now %q, %v", name, data, err)
		}
		if entries, err := os.ReadDir(a.in); err != nil || len(entries) != 1 {
			t.Errorf("%s left %v, %v", name, entries, err)
		}
	}
	if info, err := a.Write("f", strings.NewReader(strings.Repeat("x", 100)), 100, 0o644); err != nil || info.Size != 100 {
		t.Errorf("exactly the limit gave %+v, %v", info, err)
	}
}

func TestNoSpaceIsLeft(t *testing.T) {
	a := newArena(t)
	small := onTmpfs(t, a.in, "size=65536,nr_inodes=10")
	if _, err := small.Write("fits", strings.NewReader(strings.Repeat("x", 30000)), 1<<20, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := small.Write("does/not", strings.NewReader(strings.Repeat("x", 1<<20)), 1<<21, 0o644); yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
		t.Errorf("got %v", err)
	}
	if _, err := small.Stat("does/not"); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("half of it is there: %v", err)
	}
	if info, err := small.Stat("fits"); err != nil || info.Size != 30000 {
		t.Errorf("what was there is %+v, %v", info, err)
	}
	var full error
	for i := range 20 {
		if _, err := small.Write(fmt.Sprint("inode", i), strings.NewReader(""), 1, 0o644); err != nil {
			full = err
		}
	}
	if yurt.CodeOf(full) != yurt.CodeWorkspaceFull {
		t.Errorf("without inodes: %v", full)
	}
}

// onTmpfs opens path as a small file system in memory that only one thread sees.
func onTmpfs(t *testing.T, path, options string) *Dir {
	t.Helper()
	type result struct {
		dir *Dir
		err error
	}
	opened := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlock: the namespace ends with the thread
		err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "")
		}
		if err == nil {
			err = unix.Mount("small", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("%s,uid=%d,gid=%d", options, testUser, testUser))
		}
		if err != nil {
			opened <- result{nil, err}
			return
		}
		dir, err := openAs(fmt.Sprintf("/proc/%d/root%s", unix.Gettid(), path))
		opened <- result{dir, err}
	}()
	r := <-opened
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { r.dir.Close() })
	return r.dir
}

func TestNeverOutside(t *testing.T) {
	a := newArena(t)
	a.play(t)
	outside := yurt.CodePathOutsideWorkspace
	reads := map[string]yurt.Code{
		"abs/canary": outside, "rel/canary": outside, "file": outside, "root/etc/passwd": outside, "up/out/canary": outside,
		"proc/etc/passwd": outside, "deep/canary": outside, "../out/canary": outside, a.out + "/canary": outside,
		"dir/../../out/canary": outside, "new": outside, "dir/../abs/canary": outside,
		"self": yurt.CodeInvalidPath, "ping": yurt.CodeInvalidPath, "self/x": yurt.CodeInvalidPath,
		"fifo": yurt.CodeNotAFile, "dir": yurt.CodeNotAFile, "dir/f/x": yurt.CodeNotAFile, "none": yurt.CodeFileNotFound,
		"inner": "", "dir/./f": "",
	}
	for name, want := range reads {
		began := time.Now()
		data, err := readAll(a.Dir, name)
		if yurt.CodeOf(err) != want {
			t.Errorf("reading %s gave %v (%s), want %s", name, err, yurt.CodeOf(err), want)
		}
		if want == "" && string(data) != "inside" {
			t.Errorf("reading %s gave %q", name, data)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("reading %s took %s", name, took)
		}
		a.untouched(t, data)
	}
	for _, name := range []string{"abs/x", "rel/canary", "root/tmp/x", "up/out/x", "proc/tmp/x", "deep/x", "abs/sub/dir/x", "../out/x", "new/x"} {
		if _, err := a.Write(name, strings.NewReader("x"), 10, 0o666); yurt.CodeOf(err) != outside {
			t.Errorf("writing %s gave %v", name, err)
		}
		a.untouched(t, nil)
	}
	// A link as the last part is replaced, never written through.
	for _, name := range []string{"file", "new", "abs", "self", "fifo"} {
		if _, err := a.Write(name, strings.NewReader("mine"), 10, 0o666); err != nil {
			t.Errorf("writing %s: %v", name, err)
		}
		if info, err := os.Lstat(filepath.Join(a.in, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is %v, %v", name, info.Mode(), err)
		}
		a.untouched(t, nil)
	}
	a.play(t)
	for _, name := range []string{"abs", "rel", "root", "up", "self", "dir", "fifo"} {
		if err := a.RemoveAll(name); err != nil {
			t.Errorf("removing %s: %v", name, err)
		}
		a.untouched(t, nil)
	}
	if err := a.RemoveAll("../out"); err == nil {
		t.Error("what is outside was removed")
	}
	a.untouched(t, nil)
}

// TestPermissionsAreTheUsers: the host refuses actions that the sandbox's own user may not do, though the host is root.
func TestPermissionsAreTheUsers(t *testing.T) {
	a := newArena(t)
	if err := os.WriteFile(a.in+"/roots", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(a.in+"/rootsdir", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(a.Dir, "roots"); yurt.CodeOf(err) != yurt.CodeInvalidPath {
		t.Errorf("a file of root's was read: %v", err)
	}
	if _, err := a.Write("rootsdir/x", strings.NewReader("x"), 10, 0o644); yurt.CodeOf(err) != yurt.CodeInvalidPath {
		t.Errorf("a directory of root's was written to: %v", err)
	}
	if err := a.RemoveAll("rootsdir/x"); err != nil {
		t.Errorf("nothing to remove: %v", err)
	}
}

// TestIdentityIsPutBack on every thread that took another on.
func TestIdentityIsPutBack(t *testing.T) {
	a := newArena(t)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			a.Write(fmt.Sprint("f", i%7), strings.NewReader("x"), 10, 0o644)
			a.Stat("../x")
			readAll(a.Dir, fmt.Sprint("f", i%5))
			func() {
				defer func() { recover() }()
				a.as(func() error { panic("in the middle") })
			}()
		})
	}
	group.Wait()
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		data, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if (fields[0] == "Uid:" || fields[0] == "Gid:") && fields[4] != "0" {
				t.Errorf("%s: %s", thread, line)
			}
		}
	}
}

// TestReadOfALeasedFile: the owner of a file can make others wait for it for most of
// a minute, but not the host.
func TestReadOfALeasedFile(t *testing.T) {
	a := newArena(t)
	if _, err := a.Write("f", strings.NewReader("x"), 10, 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(a.in+"/f", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = readAll(a.Dir, "f")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it waited %s for the lease", took)
	}
	if yurt.CodeOf(err) != yurt.CodeNotAFile {
		t.Errorf("got %v", err)
	}
	if _, err := a.Write("f", strings.NewReader("new"), 10, 0o644); err != nil {
		t.Errorf("it cannot be replaced: %v", err)
	}
}

// TestNeverOutsideWhileLinksMove exchanges directories with links that lead out as
// fast as can be, under everything that the host does.
func TestNeverOutsideWhileLinksMove(t *testing.T) {
	a := newArena(t)
	for _, dir := range []string{"d", "d/e"} {
		if err := errors.Join(os.Mkdir(filepath.Join(a.in, dir), 0o777), os.Chown(filepath.Join(a.in, dir), testUser, testUser)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"l": a.out, "d/m": "../../out", "c": "../out/canary"} {
		if err := os.Symlink(target, filepath.Join(a.in, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(a.in+"/d/e/canary", []byte("inside"), 0o666); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for _, pair := range [][2]string{{"d", "l"}, {"d/e", "d/m"}, {"l/e", "l/m"}, {"f", "c"}} {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					unix.Renameat2(unix.AT_FDCWD, filepath.Join(a.in, pair[0]), unix.AT_FDCWD, filepath.Join(a.in, pair[1]), unix.RENAME_EXCHANGE)
				}
			}
		})
	}
	tarball := archive(t, "x", file("canary"), file("e/new"), file("m/new"), link(tar.TypeLink, "e/hard", "e/new"), link(tar.TypeSymlink, "e/sym", "../../out"))
	deadline := time.Now().Add(3 * time.Second)
	succeeded := 0
	for time.Now().Before(deadline) {
		for _, name := range []string{"d/e/canary", "d/canary", "l/canary", "d/m/canary", "f", "c"} {
			data, err := readAll(a.Dir, name)
			if err == nil {
				succeeded++
			}
			a.untouched(t, data)
		}
		for _, name := range []string{"d/e/new", "l/new", "f", "d/m/sub/new"} {
			if _, err := a.Write(name, strings.NewReader("x"), 10, 0o666); err == nil {
				succeeded++
			}
			a.Stat(name)
		}
		a.RemoveAll("d/e/sub")
		a.RemoveAll("l/canary")
		a.untouched(t, nil)
		a.raceTrees(t, tarball)
	}
	close(stop)
	group.Wait()
	if succeeded == 0 {
		t.Error("nothing ever succeeded, so nothing was raced")
	}
}

// raceTrees runs all operations on directories.
func (a *arena) raceTrees(t *testing.T, tarball []byte) {
	t.Helper()
	for _, dir := range []string{".", "d", "d/e", "l"} {
		var packed bytes.Buffer
		a.Pack(t.Context(), dir, &packed)
		a.untouched(t, packed.Bytes())
		if list, err := a.List(t.Context(), dir, yurt.ListOptions{Depth: 4, Limit: 100}); err == nil {
			for _, f := range list.Files {
				if strings.HasPrefix(f.Path, "l/canary") && f.Size == int64(len(secret)) {
					t.Fatal("what is outside was listed")
				}
			}
		}
		a.Unpack(t.Context(), dir, bytes.NewReader(tarball), Limits{Entries: 100, Bytes: 1 << 20})
		a.untouched(t, nil)
		a.Chmod(dir+"/canary", 0o600)
		a.Move(dir+"/canary", "stolen", true)
		if data, err := readAll(a.Dir, "stolen"); err == nil {
			a.untouched(t, data)
		}
		a.Append(dir+"/canary", strings.NewReader("x"), 100, 0)
		a.untouched(t, nil)
	}
	a.Remove(t.Context(), "d/e", true)
	a.Remove(t.Context(), "l", true)
	a.MakeDir("d/e", 0)
	a.MakeDir("l", 0)
	a.untouched(t, nil)
}

// FuzzPath reads, writes and stats arbitrary paths of a client, among the links that a program left. It never touches
// a file outside, and never waits.
func FuzzPath(f *testing.F) {
	for _, name := range []string{
		"dir/f", "abs/canary", "rel/canary", "up/out/canary", "file", "new", "deep/canary", "proc/self/root", "root/../x", "fifo", "self/x", "ping",
		"/workspace/dir/../abs/new", "/workspace/../out/canary", "../out/canary", "dir/../../out/x", "./././dir//f", "a\x00b", "a\nb", "..", ".", "/", "", "~", "dir/f/", "\xff", "//abs/canary", "dir/..",
		strings.Repeat("dir/../", 500) + "abs/x", strings.Repeat("x", 300), "abs/./canary", "inner",
	} {
		f.Add(name)
	}
	f.Setenv("TMPDIR", "/dev/shm") // on a disk each input would wait for it
	a := newArena(f)
	f.Fuzz(func(t *testing.T, name string) {
		a.clear(t) // or there were more and more directories to walk
		a.play(t)
		began := time.Now()
		data, _ := readAll(a.Dir, name)
		a.untouched(t, data)
		a.Stat(name)
		info, err := a.Write(name, strings.NewReader("written"), 10, 0o666)
		a.untouched(t, nil)
		if err == nil {
			if data, err := readAll(a.Dir, info.Path); err != nil || string(data) != "written" {
				t.Fatalf("%q was written as %q, which reads %q, %v", name, info.Path, data, err)
			}
			if err := a.RemoveAll(info.Path); err != nil {
				t.Fatalf("removing %q: %v", info.Path, err)
			}
		} else if yurt.CodeOf(err) == yurt.CodeInternal {
			t.Fatalf("writing %q: an error that is not the client's: %v", name, err)
		}
		a.untouched(t, nil)
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("%q took %s", name, took)
		}
	})
}

// TestErrorsAreExplained: errors of the file system tell the client how to correct them.
func TestErrorsAreExplained(t *testing.T) {
	for errno, want := range map[syscall.Errno]yurt.Code{
		syscall.ENOENT: yurt.CodeFileNotFound, syscall.ENOSPC: yurt.CodeWorkspaceFull, syscall.EDQUOT: yurt.CodeWorkspaceFull,
		syscall.EISDIR: yurt.CodeNotAFile, syscall.ENOTDIR: yurt.CodeNotAFile, syscall.EEXIST: yurt.CodeNotAFile, syscall.ENOTEMPTY: yurt.CodeFileExists,
		syscall.EACCES: yurt.CodeInvalidPath, syscall.EPERM: yurt.CodeInvalidPath, syscall.ELOOP: yurt.CodeInvalidPath,
		syscall.ENAMETOOLONG: yurt.CodeInvalidPath, syscall.EIO: yurt.CodeInternal,
	} {
		if got := yurt.CodeOf(explain("f", &fs.PathError{Op: "open", Path: "f", Err: errno})); got != want {
			t.Errorf("%v is %s, want %s", errno, got, want)
		}
	}
}

// TestDirOfASandboxThatEnds: operations that began before the sandbox ended fail with that reason.
func TestDirOfASandboxThatEnds(t *testing.T) {
	a := newArena(t)
	content, more := io.Pipe()
	written := make(chan error, 1)
	go func() {
		_, err := a.Write("file", content, 100, 0)
		written <- err
	}()
	if _, err := io.WriteString(more, "half"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	more.Close()
	if err := <-written; yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Error(err)
	}
}
