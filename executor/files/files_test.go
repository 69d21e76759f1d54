package files_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/executor/workspace"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testUser is a user that the host does not know.
const testUser = 1879048192 + 1000

// arena is a directory of a sandbox, and its server.
type arena struct {
	*files.Dir

	top     string
	client  *files.Client
	kill    func()              // ends the present server
	before  func(*net.UnixConn) // has the server's end first; may be nil
	servers atomic.Int64        // how many there were
}

func newArena(t testing.TB) *arena {
	t.Helper()
	if testing.Short() {
		t.Skip("takes on another identity; run without -short")
	}
	a := &arena{top: t.TempDir()}
	if err := errors.Join(os.Chmod(a.top, 0o755), os.Chown(a.top, testUser, testUser)); err != nil {
		t.Fatal(err)
	}
	a.client = files.NewClient(func() (*net.UnixConn, error) { return a.serve(t) })
	a.Dir = a.open(t, testUser)
	t.Cleanup(func() {
		if err := errors.Join(a.Close(), a.client.Close()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// serve starts a server, which ends with the test at the latest.
func (a *arena) serve(t testing.TB) (*net.UnixConn, error) {
	ours, end, err := packet.Pair("test")
	if err != nil {
		return nil, err
	}
	theirs, err := packet.Open(end)
	if err != nil {
		return nil, err
	}
	a.servers.Add(1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if a.before != nil {
			a.before(theirs)
		}
		_ = files.Serve(ctx, theirs, files.Range{First: 1879048192, Count: 65536}) // ends by kill
	}()
	a.kill = func() { cancel(); <-done }
	t.Cleanup(a.kill)
	return ours, nil
}

func (a *arena) open(t testing.TB, user int) *files.Dir {
	t.Helper()
	top, err := os.Open(a.top)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	dir, err := a.client.Open(top, func() (*os.File, error) { return os.Open(a.top) }, user, user)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (a *arena) write(t testing.TB, name, content string) yurt.FileInfo {
	t.Helper()
	info, err := a.Write(name, strings.NewReader(content), yurt.MaxFileBytes, 0)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (a *arena) read(t *testing.T, name string, span yurt.Span) string {
	t.Helper()
	file, _, err := a.Read(name, span)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func wantCode(t *testing.T, doing string, err error, code yurt.Code) {
	t.Helper()
	if yurt.CodeOf(err) != code {
		t.Errorf("%s: %v, want the code %s", doing, err, code)
	}
}

func TestFilesOfTheSandboxesUser(t *testing.T) {
	a := newArena(t)
	a.write(t, "deep/er/a", "one two")
	if got := a.read(t, "deep/er/a", yurt.Span{Offset: 4}); got != "two" {
		t.Errorf("the file has %q from the fifth byte on, want %q", got, "two")
	}
	if _, err := a.Append("deep/er/a", strings.NewReader(" three"), 100, 0); err != nil {
		t.Fatal(err)
	}
	moved, err := a.Move("deep/er/a", "b", false)
	if err != nil || moved.Path != "b" || moved.Size != 13 {
		t.Errorf("the file moved is %+v, %v", moved, err)
	}
	if _, err := a.Chmod("b", 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err := a.Stat("b"); err != nil || info.Mode != 0o600 {
		t.Errorf("the file is %+v, %v, want the mode 0600", info, err)
	}
	owned, err := os.Stat(filepath.Join(a.top, "b"))
	if err != nil {
		t.Fatal(err)
	}
	if is := fmt.Sprint(owned.Sys()); !strings.Contains(is, fmt.Sprint(testUser)) {
		t.Errorf("the file is not the sandbox's user's: %s", is)
	}
	if _, fresh, err := a.MakeDir("deep", 0); err != nil || fresh {
		t.Errorf("a directory that is there: %v, %v", fresh, err)
	}
	wantCode(t, "removing a full directory", a.Remove(t.Context(), "deep", false), yurt.CodeFileExists)
	if err := a.Remove(t.Context(), "deep", true); err != nil {
		t.Error(err)
	}
	wantCode(t, "removing it again", a.Remove(t.Context(), "deep", true), yurt.CodeFileNotFound)
	if err := a.RemoveAll("deep"); err != nil {
		t.Error(err)
	}
}

func TestFileOfAnotherUserIsRefused(t *testing.T) {
	a := newArena(t)
	if err := os.WriteFile(filepath.Join(a.top, "root"), []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := a.Read("root", yurt.Span{})
	wantCode(t, "reading a file of root", err, yurt.CodeInvalidPath)
	dir := a.open(t, 0)
	defer dir.Close()
	if _, _, err := dir.Read("root", yurt.Span{}); err == nil || !strings.Contains(err.Error(), "no sandbox has the user 0") {
		t.Errorf("reading as root: %v, want that no sandbox has the user", err)
	}
}

func TestConditionTellsOfThePresentETag(t *testing.T) {
	a := newArena(t)
	is := a.write(t, "a", "one")
	_, err := a.WriteIf("a", strings.NewReader("two"), 10, 0, yurt.Condition{Match: []string{`"other"`}})
	var coded *yurt.Error
	if !errors.As(err, &coded) || coded.Code != yurt.CodePreconditionFailed || coded.ETag != is.ETag {
		t.Errorf("a write under a condition that does not hold: %v, want the ETag %s", err, is.ETag)
	}
}

func TestContentOfManyMessages(t *testing.T) {
	a := newArena(t)
	big := strings.Repeat("0123456789abcde\n", 100_000)
	a.write(t, "big", big)
	if a.read(t, "big", yurt.Span{}) != big {
		t.Error("the file has another content than was written")
	}
	// The server answers while content still comes.
	_, err := a.Write("big", strings.NewReader(big), 10, 0)
	wantCode(t, "writing more than the limit", err, yurt.CodeFileTooLarge)
	_, err = a.Write("big/a", strings.NewReader(big), yurt.MaxFileBytes, 0)
	wantCode(t, "writing below a file", err, yurt.CodeNotAFile)
	if a.read(t, "big", yurt.Span{}) != big {
		t.Error("a write that failed changed the file")
	}
}

func TestContentThatBreaksOff(t *testing.T) {
	a := newArena(t)
	broken := errors.New("the caller has gone")
	_, err := a.Write("a", io.MultiReader(strings.NewReader("half"), &failing{broken}), yurt.MaxFileBytes, 0)
	if !errors.Is(err, broken) {
		t.Errorf("writing content that breaks off: %v, want the reader's error", err)
	}
	if left, err := os.ReadDir(a.top); err != nil || len(left) > 0 {
		t.Errorf("the write left %v, %v", left, err)
	}
}

// failing is a reader that fails.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestListOfManyMessages(t *testing.T) {
	a := newArena(t)
	for i := range 500 {
		if err := os.WriteFile(filepath.Join(a.top, fmt.Sprintf("%03d-%s", i, strings.Repeat("<", 200))), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := a.List(t.Context(), ".", yurt.ListOptions{Depth: 1, Limit: 499})
	if err != nil || len(list.Files) != 499 || !list.More || !strings.HasPrefix(list.Files[498].Path, "498-<<") {
		t.Errorf("the list has %d files, more: %v, %v", len(list.Files), list.More, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.List(ctx, ".", yurt.ListOptions{Depth: 1, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a list for a caller that left: %v", err)
	}
}

func TestArchives(t *testing.T) {
	a := newArena(t)
	a.write(t, "in/a", strings.Repeat("x", 200_000))
	a.write(t, "in/b", "two")
	var archive bytes.Buffer
	if err := a.Pack(t.Context(), "in", &archive); err != nil {
		t.Fatal(err)
	}
	limits := workspace.Limits{Entries: 10, Bytes: 1 << 20}
	done, err := a.Unpack(t.Context(), "out", bytes.NewReader(archive.Bytes()), limits)
	if err != nil || done.Bytes != 200_003 || a.read(t, "out/b", yurt.Span{}) != "two" {
		t.Errorf("unpacked %+v, %v", done, err)
	}
	var escaping bytes.Buffer
	w := tar.NewWriter(&escaping)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "../x", Typeflag: tar.TypeDir}), w.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = a.Unpack(t.Context(), "out", &escaping, limits)
	wantCode(t, "unpacking a name that leads out", err, yurt.CodePathOutsideWorkspace)
	broken := errors.New("no more")
	if err := a.Pack(t.Context(), "in", writerFunc(func([]byte) (int, error) { return 0, broken })); !errors.Is(err, broken) {
		t.Errorf("packing for a caller that takes no more: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

func TestWatch(t *testing.T) {
	a := newArena(t)
	ready, changes, ended := make(chan struct{}), make(chan yurt.FileEvent, 100), make(chan error, 1)
	watch := func(ctx context.Context) {
		ended <- a.Watch(ctx, ".", true, func() { ready <- struct{}{} }, func(e yurt.FileEvent) error {
			changes <- e
			return nil
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	go watch(ctx)
	<-ready
	a.write(t, "a", "one")
	select {
	case e := <-changes:
		if e.Path != "a" {
			t.Errorf("the change is %+v", e)
		}
	case <-time.After(10 * time.Second):
		t.Error("no change came")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch of a caller that left ended with %v", err)
	}
	go watch(t.Context())
	<-ready
	a.Dir.Close()
	if err := <-ended; err != nil {
		t.Errorf("the watch of a directory that was closed ended with %v", err)
	}
	_, err := a.Stat("a")
	wantCode(t, "using a closed directory", err, yurt.CodeSandboxNotFound)
	a.Dir = a.open(t, testUser)
}

func TestPipesAndSockets(t *testing.T) {
	a := newArena(t)
	if err := a.MakePipe("fifo"); err != nil {
		t.Fatal(err)
	}
	pipe, err := a.OpenPipe("fifo")
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := pipe.WriteString("x"); err != nil {
		t.Error(err)
	}
	_, _, err = a.Read("fifo", yurt.Span{})
	wantCode(t, "reading a FIFO as a file", err, yurt.CodeNotAFile)
	listener, err := a.Listen("socket", 5)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("unix", filepath.Join(a.top, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestServerThatEnds(t *testing.T) {
	a := newArena(t)
	a.write(t, "a", "one")
	content, feed := io.Pipe()
	under := make(chan error, 1)
	go func() {
		_, err := a.Write("b", content, yurt.MaxFileBytes, 0)
		under <- err
	}()
	if _, err := feed.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	a.kill()
	feed.Close()
	wantCode(t, "a write under way", <-under, yurt.CodeUnavailable)
	if got := a.read(t, "a", yurt.Span{}); got != "one" {
		t.Errorf("the file has %q after the server ended", got)
	}
	if n := a.servers.Load(); n != 2 {
		t.Errorf("there were %d servers, want 2", n)
	}
}

// TestRequestsAreRepeated: those that may be are carried out by the next server when one ends before it has answered.
func TestRequestsAreRepeated(t *testing.T) {
	a := newArena(t)
	a.write(t, "a", "one")
	a.kill()
	lost := 0
	// The first server takes each request, and ends without an answer.
	a.before = func(socket *net.UnixConn) {
		if lost++; lost%2 == 1 {
			_, files, err := packet.Receive(socket, make([]byte, 1<<16), 2)
			if err != nil {
				t.Error(err)
				return
			}
			requests, err := packet.Open(files[1])
			if err != nil {
				t.Error(err)
				return
			}
			_, files, err = packet.Receive(requests, make([]byte, 1<<16), 1)
			if err != nil {
				t.Error(err)
				return
			}
			files[0].Close()
			requests.Close()
			socket.Close()
		}
	}
	for name, do := range map[string]func() error{
		"stat": func() error { _, err := a.Stat("a"); return err },
		"list": func() error {
			list, err := a.List(t.Context(), ".", yurt.ListOptions{Depth: 1, Limit: 100})
			if err == nil && len(list.Files) == 0 {
				err = errors.New("it is empty")
			}
			return err
		},
		"read":       func() error { return readAll(a.Dir) },
		"write":      func() error { _, err := a.Write("b", strings.NewReader("two"), 10, 0); return err },
		"make_dir":   func() error { _, _, err := a.MakeDir("dir", 0); return err },
		"make_pipe":  func() error { return a.MakePipe("pipe") },
		"remove_all": func() error { return a.RemoveAll("dir") },
	} {
		lost = 0
		if err := do(); err != nil || lost < 2 {
			t.Errorf("%s: %v after %d servers, want success with the second", name, err, lost)
		}
		a.kill()
	}
	lost = 0
	_, err := a.Append("a", strings.NewReader("two"), 10, 0)
	wantCode(t, "an addition, which would come twice", err, yurt.CodeUnavailable)
	a.before = nil
}

// TestServeEndsBrokenConnections sends messages that no client of ours sends.
func TestServeEndsBrokenConnections(t *testing.T) {
	for name, data := range map[string]string{
		"no descriptors": `{"uid":1879049192,"gid":1879049192}`, "another form": `{"gid":1879049192,"uid":1879049192}`,
		"a stray field": `{"uid":1,"gid":1,"path":"/root"}`, "no JSON": "x", "a giant": strings.Repeat("x", 70_000),
	} {
		t.Run(name, func(t *testing.T) {
			ours, end, err := packet.Pair("test")
			if err != nil {
				t.Fatal(err)
			}
			defer ours.Close()
			theirs, err := packet.Open(end)
			if err != nil {
				t.Fatal(err)
			}
			if err := packet.Send(ours, []byte(data), nil); err != nil {
				t.Fatal(err)
			}
			if err := files.Serve(t.Context(), theirs, files.Range{First: 1879048192, Count: 65536}); err == nil || errors.Is(err, fs.ErrClosed) {
				t.Errorf("serving ended with %v, want the reason", err)
			}
		})
	}
}
