package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// The requests themselves are tested over a socket in package broker. These tests are about messages that no client of ours sends. The
// broker behind them refuses all requests: it has no cgroups, and looks at ids first.
func refusing() broker.Broker { return broker.NewLocal(broker.Config{}) }

// connect returns both ends of a connection.
func connect(t *testing.T) (executor, host *net.UnixConn) {
	t.Helper()
	executor, end, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	host, err = Open(end)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { executor.Close(); host.Close() })
	return executor, host
}

// serve answers requests until the test ends, and returns the channel of the outcome.
func serve(t *testing.T, by broker.Broker) (executor *net.UnixConn, served <-chan error) {
	t.Helper()
	executor, host := connect(t)
	outcome := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		outcome <- Serve(t.Context(), host, by)
	}()
	t.Cleanup(func() { executor.Close(); <-ended })
	return executor, outcome
}

// countFiles returns how many files this process has open. No finalizer closes one meanwhile.
func countFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// keepsFiles fails the test if it ends with more open files than it began with. It comes before all else in a test.
func keepsFiles(t *testing.T) {
	t.Helper()
	garbage := debug.SetGCPercent(-1)
	before := countFiles(t)
	t.Cleanup(func() {
		defer debug.SetGCPercent(garbage)
		for range 100 { // goroutines of the connection close theirs at its end
			if countFiles(t) <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("there are %d open files, and there were %d", countFiles(t), before)
	})
}

// nulls returns so many files.
func nulls(t *testing.T, n int) (files []*os.File) {
	t.Helper()
	for range n {
		file, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		files = append(files, file)
	}
	return files
}

// sendRaw sends bytes as a message.
func sendRaw(t *testing.T, socket *net.UnixConn, data string, files ...*os.File) error {
	t.Helper()
	rights, err := packet.Rights(files)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = socket.WriteMsgUnix([]byte(data), rights, nil)
	return err
}

// answerTo returns the next answer.
func answerTo(t *testing.T, socket *net.UnixConn) answer {
	t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	data, files, err := packet.Receive(socket, make([]byte, maxBytes), maxFiles)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		file.Close()
	}
	a, err := decodeAnswer(data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const refused = `{"id":7,"kind":"thaw","args":{"sandbox":"x"}}`

// padded is a message of so many bytes, which has the form of a request.
func padded(length int) string {
	const begin, end = `{"id":7,"kind":"`, `"}`
	return begin + strings.Repeat("a", length-len(begin)-len(end)) + end
}

// TestBrokenMessagesEndTheConnection: after a message that is not in the form of a request, no other is taken.
func TestBrokenMessagesEndTheConnection(t *testing.T) {
	for name, hostile := range map[string]struct {
		data  string
		files int
	}{
		"no JSON":                 {data: "\x00\x01"},
		"a list":                  {data: `[]`},
		"null":                    {data: `null`},
		"an empty object":         {data: `{}`},
		"no kind":                 {data: `{"id":7}`},
		"a space":                 {data: `{"id":7, "kind":"thaw"}`},
		"a line feed at the end":  {data: refused + "\n"},
		"two requests":            {data: refused + refused},
		"an unknown field":        {data: `{"id":7,"kind":"thaw","as":"root"}`},
		"a field twice":           {data: `{"id":8,"id":7,"kind":"thaw"}`},
		"a field of another case": {data: `{"ID":7,"kind":"thaw"}`},
		"fields out of order":     {data: `{"kind":"thaw","id":7}`},
		"a negative number":       {data: `{"id":-7,"kind":"thaw"}`},
		"a number with a point":   {data: `{"id":7.0,"kind":"thaw"}`},
		"a number as text":        {data: `{"id":"7","kind":"thaw"}`},
		"an escape without need":  {data: `{"id":7,"kind":"th\u0061w"}`},
		"no text":                 {data: "{\"id\":7,\"kind\":\"\xff\"}"},
		"deep lists":              {data: `{"id":7,"kind":"thaw","args":` + strings.Repeat("[", 30000) + strings.Repeat("]", 30000) + `}`},
		"a giant message":         {data: padded(maxBytes) + "x"},
		"a descriptor":            {data: refused, files: 1},
		"some descriptors":        {data: refused, files: maxFiles},
		"a flood of descriptors":  {data: refused, files: 253},
		"a giant with a flood":    {data: strings.Repeat("a", 2*maxBytes), files: 253},
		"a cancellation's args":   {data: `{"id":7,"kind":"cancel","args":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			keepsFiles(t)
			executor, served := serve(t, refusing())
			if err := sendRaw(t, executor, hostile.data, nulls(t, hostile.files)...); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-served:
				if err == nil {
					t.Error("it ends without an error")
				}
			case <-time.After(10 * time.Second):
				t.Error("the connection goes on")
			}
		})
	}
}

// TestEmptyMessageWithFiles: it looks like the end of the connection, and its files are closed.
func TestEmptyMessageWithFiles(t *testing.T) {
	keepsFiles(t)
	executor, served := serve(t, refusing())
	rights, err := packet.Rights(nulls(t, maxFiles))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := executor.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) { // package net would send a byte with them
		message := unix.Msghdr{Control: &rights[0], Controllen: uint64(len(rights))}
		_, _, errno = unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&message)), 0)
	})
	if err != nil || errno != 0 {
		t.Fatal(err, errno)
	}
	if err := <-served; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// TestRefusedRequestsLeaveTheConnection: a request that cannot be read, or that the broker refuses, has an error for an answer.
func TestRefusedRequestsLeaveTheConnection(t *testing.T) {
	keepsFiles(t)
	executor, served := serve(t, refusing())
	id := uint64(0)
	for name, hostile := range map[string]struct {
		kind, args string
	}{
		"an unknown request":            {kind: "shell", args: `{"sandbox":"sbx_a"}`},
		"a long name":                   {kind: strings.Repeat("a", maxBytes-100), args: `{}`},
		"no request":                    {kind: "", args: `{"sandbox":"sbx_a"}`},
		"no args":                       {kind: "thaw"},
		"null for args":                 {kind: "thaw", args: `null`},
		"a list for args":               {kind: "thaw", args: `["sbx_a"]`},
		"no sandbox":                    {kind: "thaw", args: `{}`},
		"the args of another request":   {kind: "thaw", args: `{"sandbox":"sbx_a","run":"exe_a"}`},
		"a sandbox twice":               {kind: "thaw", args: `{"sandbox":"sbx_b","sandbox":"sbx_a"}`},
		"a sandbox of another case":     {kind: "thaw", args: `{"Sandbox":"sbx_a"}`},
		"an empty id":                   {kind: "thaw", args: `{"sandbox":""}`},
		"a path as an id":               {kind: "freeze", args: `{"sandbox":"../../system.slice"}`},
		"a session's id":                {kind: "freeze", args: `{"sandbox":"ses_a"}`},
		"an id that ends early":         {kind: "freeze", args: `{"sandbox":"sbx_a\u0000"}`},
		"a number as an id":             {kind: "freeze", args: `{"sandbox":1}`},
		"the disk of all":               {kind: "remove_disk", args: `{"sandbox":".."}`},
		"the disk of a path":            {kind: "remove_disk", args: `{"sandbox":"a/../../b"}`},
		"an end of all":                 {kind: "end", args: `{"sandbox":"."}`},
		"a path as a place":             {kind: "open", args: `{"sandbox":"sbx_a","places":["/etc"]}`},
		"a path as a layer":             {kind: "mount", args: `{"sandbox":"sbx_a","layer":"../../etc"}`},
		"two trees":                     {kind: "mount", args: `{"sandbox":"sbx_a","layer":"` + strings.Repeat("0a", 32) + `","view":"python"}`},
		"a path as a view":              {kind: "shows", args: `{"sandbox":"sbx_a","view":"../../../etc"}`},
		"rules for devices":             {kind: "resize", args: `{"sandbox":"sbx_a","from":{},"to":{},"devices":"a"}`},
		"memory as text":                {kind: "resize", args: `{"sandbox":"sbx_a","from":{"cpu":1,"memory":"1Mi","disk":1,"pids":1},"to":{"cpu":1,"memory":1,"disk":1,"pids":1}}`},
		"a start of nothing":            {kind: "start", args: `{}`},
		"a start with a specification":  {kind: "start", args: `{"id":"sbx_a","spec":{"root":"/"}}`},
		"a start with a path for an id": {kind: "start", args: string(mustEncode(t, start{broker.StartRequest{ID: "../a"}}))},
		"a path as a runtime":           {kind: "start_runtime", args: `{"name":"../sh","certificate":"-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n","log_level":"info"}`},
		"a runtime with arguments":      {kind: "start_runtime", args: `{"name":"python","certificate":"","log_level":"info","args":["sh"]}`},
		"a variable as a certificate":   {kind: "start_runtime", args: `{"name":"python","certificate":"LD_PRELOAD=/x","log_level":"info"}`},
		"a path as an image":            {kind: "start_unpacker", args: `{"image":"../../root","file_bytes":1}`},
		"another executor's program":    {kind: "kill_program", args: `{"program":1}`},
		"an id that is no text":         {kind: "thaw", args: "{\"sandbox\":\"sbx_\xff\"}"},
	} {
		id++
		data := fmt.Sprintf(`{"id":%d,"kind":%q,"args":%s}`, id, hostile.kind, hostile.args)
		if hostile.args == "" {
			data = fmt.Sprintf(`{"id":%d,"kind":%q}`, id, hostile.kind)
		}
		if err := sendRaw(t, executor, data); err != nil {
			t.Fatal(err)
		}
		a := answerTo(t, executor)
		if a.ID != id || a.Error == nil || a.Error.Code != yurt.CodeInvalidArgument {
			t.Errorf("%s: the answer is %+v, %+v, want the code %s", name, a, a.Error, yurt.CodeInvalidArgument)
		}
	}
	executor.Close()
	if err := <-served; err != nil {
		t.Errorf("the connection ends with %v", err)
	}
}

func mustEncode(t *testing.T, value any) []byte {
	t.Helper()
	data, err := packet.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// patient is a broker whose Freeze, EndRun and Resize take as long as a test wants: the kernel takes so long only when it is ill, or has much
// memory to reclaim.
type patient struct {
	broker.Broker
	begun   chan string   // names of sandboxes
	release chan struct{} // ends each EndRun and Resize
}

func newPatient() *patient {
	return &patient{Broker: refusing(), begun: make(chan string, 2*UnderWay), release: make(chan struct{})}
}

func (p *patient) Freeze(ctx context.Context, sandboxID string) error {
	p.begun <- sandboxID
	<-ctx.Done()
	return ctx.Err()
}

func (p *patient) EndRun(sandboxID, _ string) (broker.Run, error) {
	p.begun <- sandboxID
	<-p.release
	return broker.Run{}, nil
}

func (p *patient) Resize(sandboxID string, _, _ yurt.Resources) error {
	p.begun <- sandboxID
	<-p.release
	return nil
}

// TestSameNumberTwice: a number names one request at a time.
func TestSameNumberTwice(t *testing.T) {
	keepsFiles(t)
	slow := newPatient()
	executor, served := serve(t, slow)
	for range 2 {
		if err := sendRaw(t, executor, `{"id":7,"kind":"freeze","args":{"sandbox":"sbx_a"}}`); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-served; err == nil {
		t.Error("it ends without an error")
	}
	if n := len(slow.begun); n != 1 {
		t.Errorf("%d requests began, want 1", n)
	}
}

// TestSlowRequestHoldsUpNoOther: others are answered while it is under way, and it ends with its context.
func TestSlowRequestHoldsUpNoOther(t *testing.T) {
	keepsFiles(t)
	slow := newPatient()
	executor, _ := serve(t, slow)
	client := NewClient(executor, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	frozen := make(chan error, 1)
	go func() { frozen <- client.Freeze(ctx, "sbx_slow") }()
	<-slow.begun
	resized := make(chan error, 1)
	go func() {
		resized <- client.Resize("sbx_full", yurt.Resources{Memory: 2 << 30}, yurt.Resources{Memory: 1 << 30})
	}()
	<-slow.begun
	var others sync.WaitGroup
	for range 50 {
		others.Go(func() {
			for range 20 {
				if err := client.Thaw("no id"); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
					t.Errorf("another request: %v, want %s", err, yurt.CodeInvalidArgument)
				}
			}
		})
	}
	others.Wait()
	select {
	case err := <-frozen:
		t.Fatalf("the slow request ended with %v", err)
	case err := <-resized:
		t.Fatalf("the other slow request ended with %v", err)
	default:
	}
	slow.release <- struct{}{}
	if err := <-resized; err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-frozen; !errors.Is(err, context.Canceled) {
		t.Errorf("with its context the request ends with %v", err)
	}
	if err := client.Freeze(ctx, "sbx_late"); !errors.Is(err, context.Canceled) || len(slow.begun) > 0 {
		t.Errorf("a request whose context has ended was sent: %v", err)
	}
	client.Close()
}

// TestConnectionEndsRequests: at both ends.
func TestConnectionEndsRequests(t *testing.T) {
	keepsFiles(t)
	slow := newPatient()
	executor, served := serve(t, slow)
	client := NewClient(executor, nil, nil)
	frozen := make(chan error, 1)
	go func() { frozen <- client.Freeze(t.Context(), "sbx_slow") }()
	<-slow.begun
	client.Close()
	if err := <-frozen; yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("the request that was under way ends with %v, want %s", err, yurt.CodeUnavailable)
	}
	if err := <-served; err != nil { // after the request's own end, by its context
		t.Errorf("the server ends with %v", err)
	}
	if err := client.Thaw("sbx_a"); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("a request without a connection: %v, want %s", err, yurt.CodeUnavailable)
	}
}

// TestCloseBesideAnswers: the executor's end is no broken rule when answers are on their way to it, read or not.
func TestCloseBesideAnswers(t *testing.T) {
	keepsFiles(t)
	for range 200 {
		executor, served := serve(t, refusing())
		for id := range 3 {
			if err := sendRaw(t, executor, fmt.Sprintf(`{"id":%d,"kind":"thaw","args":{"sandbox":"x"}}`, id)); err != nil {
				t.Fatal(err)
			}
		}
		answerTo(t, executor)
		executor.Close()
		if err := <-served; err != nil {
			t.Fatalf("the server ends with %v", err)
		}
	}
}

// TestServerEndsWithItsContext: so do its requests and its clients.
func TestServerEndsWithItsContext(t *testing.T) {
	keepsFiles(t)
	slow := newPatient()
	executor, host := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, host, slow) }()
	client := NewClient(executor, nil, nil)
	frozen := make(chan error, 1)
	go func() { frozen <- client.Freeze(t.Context(), "sbx_slow") }()
	<-slow.begun
	cancel()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("the server ends with %v", err)
	}
	if err := <-frozen; err == nil {
		t.Error("the request that was under way succeeds")
	}
	<-client.Done()
	client.Close()
}

// TestRequestsUnderWayAreBounded: more of them wait, in the client as in the server, and all are carried out.
func TestRequestsUnderWayAreBounded(t *testing.T) {
	keepsFiles(t)
	slow := newPatient()
	executor, _ := serve(t, slow)
	for id := range UnderWay + 50 { // without a client of ours, which does not send so many
		if err := sendRaw(t, executor, fmt.Sprintf(`{"id":%d,"kind":"end_run","args":{"sandbox":"sbx_a","run":"exe_a"}}`, id)); err != nil {
			t.Fatal(err)
		}
	}
	for range UnderWay {
		<-slow.begun
	}
	time.Sleep(50 * time.Millisecond)
	if n := len(slow.begun); n != 0 {
		t.Errorf("%d requests are under way beyond %d", n, UnderWay)
	}
	close(slow.release)
	for range UnderWay + 50 {
		if a := answerTo(t, executor); a.Error != nil {
			t.Fatalf("an answer is %+v", a.Error)
		}
	}
}

// TestPeerThatReadsNoAnswers: it costs a bounded number of goroutines, until its end.
func TestPeerThatReadsNoAnswers(t *testing.T) {
	keepsFiles(t)
	executor, served := serve(t, refusing())
	before := runtime.NumGoroutine()
	if err := executor.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for ; sendRaw(t, executor, fmt.Sprintf(`{"id":%d,"kind":"thaw","args":{"sandbox":"x"}}`, sent)) == nil; sent++ {
	}
	if sent < UnderWay {
		t.Errorf("it sent %d requests alone", sent)
	}
	if n := runtime.NumGoroutine() - before; n > UnderWay+10 {
		t.Errorf("%d requests have %d goroutines", sent, n)
	}
	executor.Close()
	if err := <-served; err != nil {
		t.Logf("the server ends with %v", err) // of the answer that it could not send, or of the end
	}
}

// TestOpenTakesSocketsAlone: a program that is started with another descriptor in its place says so.
func TestOpenTakesSocketsAlone(t *testing.T) {
	keepsFiles(t)
	if _, err := Open(nulls(t, 1)[0]); err == nil {
		t.Error("a file is a socket")
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	if _, err := Open(os.NewFile(uintptr(fds[1]), "stream")); err == nil {
		t.Error("a stream keeps messages apart")
	}
}

// FuzzRequest: a request that is taken has the form in which a client writes it, and the reader survives all others.
func FuzzRequest(f *testing.F) {
	forms := blanks()
	for k, form := range forms {
		args, err := packet.Encode(form())
		if err != nil {
			f.Fatal(err)
		}
		data, err := packet.Encode(message{ID: 1, Kind: k, Args: args})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"id":1,"kind":"cancel"}`))
	f.Add([]byte(`{"id":1,"kind":"new_run","args":{"sandbox":"sbx_a","run":"exe_a","place":"zygote-a"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeMessage(data)
		if err != nil {
			return
		}
		r, err := read(forms, m)
		if err != nil {
			return
		}
		m.Args = mustEncode(t, r)
		if again := m.encode(); !bytes.Equal(again, data) || !bytes.Equal(mustEncode(t, m), data) {
			t.Errorf("%q was taken, which a client writes as %q", data, again)
		}
	})
}
