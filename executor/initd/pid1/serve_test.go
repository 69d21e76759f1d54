package pid1

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd"
)

// testTable returns a table whose forker refuses every process, as it has no cgroup. The table knows two processes:
// "ended" has output, "reads" has an open stdin that the test leaves unread.
func testTable(t testing.TB) *table {
	t.Helper()
	f := &forker{requests: make(chan forkRequest)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for req := range f.requests {
			pid, err := f.forkInto(req)
			req.reply <- forkReply{pid, err}
		}
	}()
	t.Cleanup(func() {
		close(f.requests)
		<-done
	})
	table := newTable(f)
	ended := testProcess(t)
	ended.id = "ended"
	ended.add(initd.Stdout, []byte("one"))
	ended.add(initd.Stderr, []byte("two"))
	end(ended)
	table.byID["ended"] = ended
	reads := testProcess(t)
	reads.id = "reads"
	end, err := reads.openInput()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end.Close()
		reads.input.close()
	})
	table.byID["reads"] = reads
	return table
}

func socketPair(t testing.TB) (host, init *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]*net.UnixConn
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "socket")
		conn, err := net.FileConn(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = conn.(*net.UnixConn)
	}
	return conns[0], conns[1]
}

// converse sends the bytes to a session and returns all that it answers.
func converse(t testing.TB, table *table, request []byte) []byte {
	t.Helper()
	host, init := socketPair(t)
	handled := make(chan struct{})
	go func() {
		defer close(handled)
		defer init.Close()
		newSession(init, table).handle()
	}()
	defer host.Close()
	host.SetDeadline(time.Now().Add(20 * time.Second))
	go func() {
		host.Write(request) // a session that has heard enough closes
		host.CloseWrite()
	}()
	answer, err := io.ReadAll(host)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%q is never answered", request)
	}
	<-handled
	return answer
}

func encode(t testing.TB, kind initd.Kind, message any) []byte {
	t.Helper()
	frame, err := initd.EncodeMessage(kind, message)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestRequestsThatAreRefused(t *testing.T) {
	table := testTable(t)
	start := func(change func(*initd.StartRequest)) []byte {
		req := initd.StartRequest{ID: "new", Argv: []string{"/bin/true"}, Dir: "/", UID: 1000, GID: 1000}
		change(&req)
		return encode(t, initd.KindStart, req)
	}
	tests := []struct {
		name    string
		request []byte
		want    string // reason
	}{
		{"an unknown kind", initd.AppendFrame(nil, 'z', nil), initd.ReasonBadRequest},
		{"a kind that only init sends", encode(t, initd.KindOK, nil), initd.ReasonBadRequest},
		{"an acknowledgement of nothing", encode(t, initd.KindAck, initd.Ack{Seq: 1}), initd.ReasonBadRequest},
		{"no JSON", initd.AppendFrame(nil, initd.KindSignal, []byte("}")), initd.ReasonBadRequest},
		{"an empty start", initd.AppendFrame(nil, initd.KindStart, nil), initd.ReasonBadRequest},
		{"a start as root", start(func(r *initd.StartRequest) { r.UID = 0 }), initd.ReasonBadRequest},
		{"a start without the stdin it announces", start(func(r *initd.StartRequest) { r.HasStdin = true }), initd.ReasonBadRequest},
		{"a start of an id that is there", start(func(r *initd.StartRequest) { r.ID = "ended" }), initd.ReasonBadRequest},
		{"a start without a cgroup", start(func(*initd.StartRequest) {}), initd.ReasonCgroup},
		{"a start of nothing in PATH", start(func(r *initd.StartRequest) { r.Argv[0] = "no-such-program" }), initd.ReasonNoCommand},
		{"attaching to nothing", encode(t, initd.KindAttach, initd.AttachRequest{ID: "none"}), initd.ReasonNotFound},
		{"forgetting nothing", encode(t, initd.KindForget, initd.ProcessRequest{ID: "none"}), initd.ReasonNotFound},
		{"a start with a terminal and a stdin of its own", start(func(r *initd.StartRequest) {
			r.Terminal, r.OpenStdin = &initd.WindowSize{Rows: 1, Cols: 1}, true
		}), initd.ReasonBadRequest},
		{"a start with a terminal without rows", start(func(r *initd.StartRequest) { r.Terminal = &initd.WindowSize{Cols: 1} }), initd.ReasonBadRequest},
		{"a start without the stdout it announces", start(func(r *initd.StartRequest) { r.HasStdout = true }), initd.ReasonBadRequest},
		{"input for nothing", encode(t, initd.KindInput, initd.InputRequest{ID: "none", EOF: true}), initd.ReasonNotFound},
		{"input for what has no stdin", encode(t, initd.KindInput, initd.InputRequest{ID: "ended", Data: []byte("x")}), initd.ReasonNoStdin},
		{"no input", encode(t, initd.KindInput, initd.InputRequest{ID: "ended"}), initd.ReasonBadRequest},
		{"too much input", encode(t, initd.KindInput, initd.InputRequest{ID: "ended", Data: make([]byte, initd.MaxInput+1)}), initd.ReasonBadRequest},
		{"resizing nothing", encode(t, initd.KindResize, initd.ResizeRequest{ID: "none", Size: initd.WindowSize{Rows: 1, Cols: 1}}), initd.ReasonNotFound},
		{"resizing what has no terminal", encode(t, initd.KindResize, initd.ResizeRequest{ID: "ended", Size: initd.WindowSize{Rows: 1, Cols: 1}}), initd.ReasonNoTerminal},
		{"resizing to nothing", encode(t, initd.KindResize, initd.ResizeRequest{ID: "ended"}), initd.ReasonBadRequest},
		{"signalling nothing", encode(t, initd.KindSignal, initd.SignalRequest{ID: "none", Signal: 9}), initd.ReasonNotFound},
		{"signalling what has ended", encode(t, initd.KindSignal, initd.SignalRequest{ID: "ended", Signal: 9}), initd.ReasonNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame, err := initd.NewReader(bytes.NewReader(converse(t, table, tt.request))).Next()
			if err != nil || frame.Kind != initd.KindError {
				t.Fatalf("it answered %q, %v", frame.Kind, err)
			}
			var failure initd.Failure
			if err := json.Unmarshal(frame.Payload, &failure); err != nil || failure.Reason != tt.want || failure.Message == "" {
				t.Errorf("it said %+v, %v; want the reason %s", failure, err, tt.want)
			}
		})
	}
	if len(table.byID) != 2 || len(table.byPID) != 0 {
		t.Errorf("refused requests left %d processes behind", len(table.byID)-2)
	}
}

func TestAttachToWhatHasEnded(t *testing.T) {
	table := testTable(t)
	host, init := socketPair(t)
	handled := make(chan struct{})
	go func() {
		defer close(handled)
		defer init.Close()
		newSession(init, table).handle()
	}()
	if _, err := host.Write(encode(t, initd.KindAttach, initd.AttachRequest{ID: "ended", After: 1})); err != nil {
		t.Fatal(err)
	}
	reader := initd.NewReader(host)
	var kinds strings.Builder
	for {
		frame, err := reader.Next()
		if err != nil { // after a refusal the session closes its side
			break
		}
		kinds.WriteByte(byte(frame.Kind))
		if chunk, err := frame.Chunk(); err == nil && (chunk.Seq != 2 || string(chunk.Data) != "two") {
			t.Errorf("after chunk 1 came %d, %q", chunk.Seq, chunk.Data)
		}
		if frame.Kind != initd.KindExit {
			continue
		}
		if table.byID["ended"] == nil {
			t.Error("it was forgotten before anybody asked for that")
		}
		// The connection goes on: it is forgotten, and asked for again.
		again := append(encode(t, initd.KindForget, initd.ProcessRequest{ID: "ended"}), encode(t, initd.KindAttach, initd.AttachRequest{ID: "ended"})...)
		if _, err := host.Write(again); err != nil {
			t.Fatal(err)
		}
	}
	host.Close()
	<-handled
	if kinds.String() != "BDXE" {
		t.Errorf("it answered with frames %q", kinds.String())
	}
}

// TestForgettingAnother: the connection of one process cannot forget another process, and no connection can forget a
// process that has not ended: both end the connection.
func TestForgettingAnother(t *testing.T) {
	table := testTable(t)
	for _, ids := range [][2]string{{"ended", "reads"}, {"reads", "reads"}} {
		attach, forget := encode(t, initd.KindAttach, initd.AttachRequest{ID: ids[0]}), encode(t, initd.KindForget, initd.ProcessRequest{ID: ids[1]})
		converse(t, table, append(append(attach, forget...), encode(t, initd.KindPing, nil)...))
		if table.byID["ended"] == nil || table.byID["reads"] == nil {
			t.Fatalf("forgetting %s on the connection of %s left %d of 2 processes", ids[1], ids[0], len(table.byID))
		}
	}
}

// scarce is a listener that runs out of descriptors before it works.
type scarce struct {
	net.Listener

	errs []error
}

func (s *scarce) Accept() (net.Conn, error) {
	if len(s.errs) == 0 {
		return s.Listener.Accept()
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
}

// TestServeOutlivesAWantOfDescriptors must hold, or a sandbox would end when more
// runs are begun in it than its init has descriptors for.
func TestServeOutlivesAWantOfDescriptors(t *testing.T) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: t.TempDir() + "/s", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	table := testTable(t)
	served := make(chan error)
	go func() {
		served <- serve(&scarce{Listener: listener, errs: []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ECONNABORTED}}, table)
	}()
	if err := initd.NewClient(listener.Addr().String()).Ping(t.Context()); err != nil {
		t.Error(err)
	}
	listener.Close()
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ended with %v", err)
	}
}

// TestInputEndsWithItsConnection must hold, or a host that gives up would leave the
// process's stdin taken for good.
func TestInputEndsWithItsConnection(t *testing.T) {
	table := testTable(t)
	send := func(data []byte) (*net.UnixConn, <-chan struct{}) {
		host, init := socketPair(t)
		handled := make(chan struct{})
		go func() {
			defer close(handled)
			defer init.Close()
			newSession(init, table).handle()
		}()
		if _, err := host.Write(encode(t, initd.KindInput, initd.InputRequest{ID: "reads", Data: data})); err != nil {
			t.Fatal(err)
		}
		return host, handled
	}
	full, handled := send(make([]byte, initd.MaxInput)) // as much as the pipe holds
	if frame, err := initd.NewReader(full).Next(); err != nil || frame.Kind != initd.KindOK {
		t.Fatalf("answered %q, %v", frame.Kind, err)
	}
	full.Close()
	<-handled
	for range 2 {
		waits, handled := send([]byte("x"))
		waits.Close()
		<-handled
	}
}

// FuzzSession sends bytes as the host would send requests. No input over the socket may end yurt-init, which would end
// its sandbox, and every connection that the host closes ends. No process is started: the table refuses.
func FuzzSession(f *testing.F) {
	f.Add(encode(f, initd.KindPing, nil))
	f.Add(encode(f, initd.KindForget, initd.ProcessRequest{ID: "ended"}))
	f.Add(encode(f, initd.KindSignal, initd.SignalRequest{ID: "ended", Signal: -1}))
	f.Add(encode(f, initd.KindStart, initd.StartRequest{ID: "a", Argv: []string{"/bin/true"}, Env: []string{"PATH"}, Dir: "/", UID: 1000, GID: 1000, HasStdin: true, HasControl: true}))
	f.Add(encode(f, initd.KindStart, initd.StartRequest{ID: "a", Argv: []string{"true"}, Env: []string{"PATH=.:/bin:"}, UID: 1000, GID: 1000, OutputLimit: 1}))
	f.Add(encode(f, initd.KindStart, initd.StartRequest{ID: "a", Argv: []string{"/bin/true"}, Dir: "/", UID: 1000, GID: 1000, OpenStdin: true}))
	f.Add(encode(f, initd.KindStart, initd.StartRequest{ID: "a", Argv: []string{"/bin/true"}, Dir: "/", UID: 1000, GID: 1000, HasStdout: true, HasStderr: true}))
	f.Add(encode(f, initd.KindStart, initd.StartRequest{ID: "a", Argv: []string{"/bin/true"}, UID: 1000, GID: 1000, Terminal: &initd.WindowSize{Rows: 24, Cols: 80}}))
	f.Add(encode(f, initd.KindInput, initd.InputRequest{ID: "ended", Data: []byte("x"), EOF: true}))
	f.Add(append(encode(f, initd.KindInput, initd.InputRequest{ID: "reads", Data: []byte("x"), EOF: true}), "more"...))
	f.Add(encode(f, initd.KindResize, initd.ResizeRequest{ID: "ended", Size: initd.WindowSize{Rows: 1<<16 - 1, Cols: 1}}))
	f.Add(encode(f, initd.KindAttach, initd.AttachRequest{ID: "ended"}))
	f.Add(append(encode(f, initd.KindAttach, initd.AttachRequest{ID: "ended", After: 1<<64 - 1}), encode(f, initd.KindAck, initd.Ack{Seq: 1 << 63})...))
	f.Add(append(encode(f, initd.KindAttach, initd.AttachRequest{ID: "ended"}), "C\x00\x00\x00\x02{]"...))
	f.Add(append(encode(f, initd.KindAttach, initd.AttachRequest{ID: "ended"}), encode(f, initd.KindForget, initd.ProcessRequest{ID: "ended"})...))
	f.Add([]byte("S\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, request []byte) {
		table := testTable(t)
		answer := converse(t, table, request)
		reader := initd.NewReader(bytes.NewReader(answer))
		for {
			_, err := reader.Next()
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return
			}
			if err != nil {
				t.Fatalf("%q was answered with %q: %v", request, answer, err)
			}
		}
	})
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"runs": 0o755, "data": 0o644} {
		if err := os.WriteFile(dir+"/"+name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, command, path, want string
	}{
		{"a path as it is", "./nowhere/x", dir, "./nowhere/x"},
		{"found", "runs", "/nowhere:" + dir, dir + "/runs"},
		{"found below the working directory", "runs", ".", dir + "/runs"},
		{"not executable", "data", dir, ""},
		{"a directory", "dir", dir, ""},
		{"not there", "none", dir, ""},
		{"an empty PATH", "runs", "", ""},
		{"the last PATH wins", "runs", "/nowhere", ""},
	}
	for _, tt := range tests {
		got, err := lookPath(initd.StartRequest{Argv: []string{tt.command}, Dir: dir, Env: []string{"PATH=" + dir, "X=y", "PATH=" + tt.path}})
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %q, %v", tt.name, got, err)
		}
	}
	if _, err := lookPath(initd.StartRequest{Argv: []string{"sh"}}); err != nil {
		t.Errorf("without a PATH sh is not found: %v", err)
	}
}

func TestReadFilterBounds(t *testing.T) {
	for size, ok := range map[int]bool{0: false, 7: false, 8: true, maxFilter: true, maxFilter + 8: false} {
		file, err := os.Create(t.TempDir() + "/filter")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(make([]byte, size)); err != nil { // and its offset is at the end
			t.Fatal(err)
		}
		program, err := readFilter(file)
		if (err == nil) != ok || ok && len(program) != size {
			t.Errorf("a filter of %d bytes gave %d, %v", size, len(program), err)
		}
		file.Close()
	}
}

func TestBadOptions(t *testing.T) {
	for _, args := range [][]string{nil, {"-listen-fd=3"}, {"-filter-fd=3"}, {"-x"}, {"-listen-fd=a", "-filter-fd=4"}} {
		if err := Run(t.Context(), args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
