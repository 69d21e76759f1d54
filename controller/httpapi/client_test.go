package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
)

func newClient(t *testing.T, url string) *yurtclient.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := yurtclient.New(url, yurtclient.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClient(t *testing.T) {
	s := newServer(t)
	c, ctx := contract.Client(t, s.URL), t.Context()
	if err := c.Ready(ctx); err != nil {
		t.Error("ready:", err)
	}
	if v, err := c.Version(ctx); err != nil || v.Version != "1.2.3" {
		t.Errorf("version %+v, error %v", v, err)
	}
	if list, err := c.Runtimes(ctx); err != nil || len(list) != 2 {
		t.Errorf("runtimes %+v, error %v", list, err)
	}
	if created, err := c.CreateTemplate(ctx, []byte("mine")); err != nil || created.Name != "mine" {
		t.Errorf("template %+v, error %v", created, err)
	}
	if template, err := c.Template(ctx, "mine"); err != nil || template.Name != "mine" {
		t.Errorf("template %+v, error %v", template, err)
	}
	if list, err := c.Templates(ctx); err != nil || len(list) != 5 {
		t.Errorf("templates %+v, error %v", list, err)
	}

	session, err := c.CreateSession(ctx, yurtclient.CreateSessionRequest{
		TemplateID: "python-basic", Mode: yurt.ModePersistent, AgentID: "me", Timeout: yurt.Duration(time.Hour),
		IdleTimeout: yurt.Duration(90 * time.Second), Env: map[string]string{"A": "b"}, Metadata: map[string]string{"k": "v"},
		Resources: &yurtclient.Resources{
			CPU: 0.5, Memory: 64 << 20, DiskKind: yurt.DiskImage, IOWeight: 7, Ulimits: yurt.Ulimits{NoFile: 64, FSize: 1 << 20, Stack: 1 << 21},
		},
		IdempotencyKey: "once",
	})
	if err != nil || session.State != yurt.SessionReady || session.Timeout.Std() != time.Hour || session.Resources.CPU != 0.5 || session.Resources.PIDs == 0 {
		t.Fatalf("session %+v, error %v", session, err)
	}
	got, err := c.Session(ctx, session.ID)
	if want := (yurt.Ulimits{NoFile: 64, FSize: 1 << 20, Stack: 1 << 21}); err != nil || got.Resources.DiskKind != yurt.DiskImage || got.Resources.IOWeight != 7 || got.Resources.Ulimits != want {
		t.Errorf("resources %+v, error %v", got.Resources, err)
	}
	if got.AgentID != "me" {
		t.Errorf("session %+v, error %v", got, err)
	}
	page, err := c.Sessions(ctx, yurtclient.SessionFilter{
		TemplateID: "python-basic", State: yurt.SessionReady, AgentID: "me", Metadata: map[string]string{"k": "v"}, Limit: 1,
	})
	if err != nil || len(page.Sessions) != 1 || page.NextCursor != "" {
		t.Errorf("page %+v, error %v", page, err)
	}

	ended, err := c.Execute(ctx, session.ID, yurtclient.ExecuteRequest{Code: "x", Handler: "handler", Event: json.RawMessage(`{"n":1}`), Timeout: yurt.Duration(time.Second)})
	if err != nil || string(ended.Result.Result) != `{"n":1}` || ended.Kind != yurt.KindHandler || ended.SessionID != session.ID {
		t.Errorf("execution %+v, error %v", ended, err)
	}
	started, err := c.Start(ctx, session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"x", "block exit 3"}}})
	if err != nil || started.ID == "" || started.State != yurt.ExecutionRunning {
		t.Fatalf("execution %+v, error %v", started, err)
	}
	_, err = c.Result(ctx, session.ID, started.ID)
	wantClientError(t, err, yurt.CodeExecutionRunning, "")
	if got, err := c.Execution(ctx, session.ID, ""); err != nil || got.ID != started.ID {
		t.Errorf("latest execution %+v, error %v", got, err)
	}
	s.node.Release()
	s.eventually(t, func() bool {
		got, err := c.Result(ctx, session.ID, started.ID)
		return err == nil && got.Result.ExitCode == 3
	})
	if list, err := c.Executions(ctx, session.ID, yurtclient.ExecutionFilter{}); err != nil || len(list.Executions) != 2 {
		t.Errorf("executions %+v, error %v", list, err)
	}

	info, err := c.PutFile(ctx, session.ID, "a b/ü.txt", strings.NewReader("content"))
	if err != nil || info.Size != 7 {
		t.Errorf("file %+v, error %v", info, err)
	}
	content, info, err := c.GetFile(ctx, session.ID, "a b/ü.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if data, err := io.ReadAll(content); err != nil || string(data) != "content" || info.Size != 7 || info.ModTime.IsZero() {
		t.Errorf("file %q %+v, error %v", data, info, err)
	}
	_, _, err = c.GetFile(ctx, session.ID, "../../etc/shadow")
	wantClientError(t, err, yurt.CodePathOutsideWorkspace, "path")

	if got, err := c.EndSession(ctx, session.ID); err != nil || got.State != yurt.SessionTerminated {
		t.Errorf("session %+v, error %v", got, err)
	}
	_, err = c.EndSession(ctx, session.ID)
	wantClientError(t, err, yurt.CodeSessionEnded, "")
	_, err = c.CreateSession(ctx, yurtclient.CreateSessionRequest{TemplateID: "none"})
	wantClientError(t, err, yurt.CodeTemplateNotFound, "template_id")
}

func TestClientFiles(t *testing.T) {
	s := newServer(t)
	c, id, ctx := contract.Client(t, s.URL), s.session(t, "shell-basic"), t.Context()
	if info, err := c.WriteFile(ctx, id, "d/f", strings.NewReader("0123"), yurt.WriteOptions{Mode: 0o600}); err != nil || info.Mode != 0o600 {
		t.Errorf("file %+v, error %v", info, err)
	}
	if info, err := c.WriteFile(ctx, id, "d/f", strings.NewReader("456789"), yurt.WriteOptions{Append: true}); err != nil || info.Size != 10 {
		t.Errorf("file %+v, error %v", info, err)
	}
	for span, want := range map[yurt.Span]string{
		{}: "0123456789", {Offset: 3}: "3456789", {Offset: 3, Length: 4}: "3456", {Length: 2}: "01", {Offset: -2}: "89", {Offset: -4, Length: 3}: "678", {Offset: 8, Length: 100}: "89",
	} {
		content, info, err := c.GetFileSpan(ctx, id, "d/f", span)
		if err != nil {
			t.Fatalf("%+v: %v", span, err)
		}
		data, err := io.ReadAll(content)
		content.Close()
		if string(data) != want || err != nil || info.Size != int64(len(want)) {
			t.Errorf("%+v gave %q, %d, %v", span, data, info.Size, err)
		}
	}
	_, _, err := c.GetFileSpan(ctx, id, "d/f", yurt.Span{Offset: 10})
	wantClientError(t, err, yurt.CodeRangeNotSatisfiable, "range")
	if info, err := c.MakeDir(ctx, id, "e", 0o700); err != nil || !info.IsDir || info.Mode != 0o700 {
		t.Errorf("directory %+v, error %v", info, err)
	}
	if info, err := c.ChmodFile(ctx, id, "d/f", 0o755); err != nil || info.Mode != 0o755 {
		t.Errorf("file %+v, error %v", info, err)
	}
	if info, err := c.MoveFile(ctx, id, "d/f", "e/g", false); err != nil || info.Path != "e/g" {
		t.Errorf("file %+v, error %v", info, err)
	}
	if info, err := c.StatFile(ctx, id, "e/g"); err != nil || info.Type != yurt.FileRegular || info.Size != 10 {
		t.Errorf("file %+v, error %v", info, err)
	}
	page, err := c.ListFiles(ctx, id, "", yurtclient.ListFilesOptions{Depth: 2, Limit: 1})
	if err != nil || len(page.Files) != 1 || page.NextCursor == "" {
		t.Errorf("page %+v, error %v", page, err)
	}
	if page, err = c.ListFiles(ctx, id, "", yurtclient.ListFilesOptions{Depth: 2, Cursor: page.NextCursor}); err != nil || len(page.Files) != 1 || page.Files[0].Path != "e/g" {
		t.Errorf("page %+v, error %v", page, err)
	}
	archive, err := c.PackFiles(ctx, id, "e")
	if err != nil {
		t.Fatal(err)
	}
	done, err := c.UnpackFiles(ctx, id, "copy", archive)
	archive.Close()
	if err != nil || done != (yurt.Unpacked{Entries: 1, Bytes: 10}) {
		t.Errorf("unpacked %+v, error %v", done, err)
	}
	_, err = c.PackFiles(ctx, id, "none")
	wantClientError(t, err, yurt.CodeFileNotFound, "path")
	var events []yurt.FileEvent
	ready := false
	enough := errors.New("enough")
	err = c.WatchFiles(ctx, id, "copy", true, func() { ready = true }, func(e yurt.FileEvent) error {
		events = append(events, e)
		return enough
	})
	if !errors.Is(err, enough) || !ready || len(events) != 1 || events[0].Path != "copy/g" || events[0].Type != yurt.FileCreated {
		t.Errorf("events %+v, ready %v, error %v", events, ready, err)
	}
	wantClientError(t, c.WatchFiles(ctx, id, "../x", false, nil, nil), yurt.CodePathOutsideWorkspace, "path")
	wantClientError(t, c.RemoveFile(ctx, id, "e", false), yurt.CodeFileExists, "path")
	if err := c.RemoveFile(ctx, id, "e", true); err != nil {
		t.Error(err)
	}
	// A watch ends with the session.
	watched, begun := make(chan error), make(chan struct{})
	go func() {
		watched <- c.WatchFiles(ctx, id, "", false, func() { close(begun) }, func(yurt.FileEvent) error { return nil })
	}()
	<-begun
	if _, err := c.EndSession(ctx, id); err != nil {
		t.Error(err)
	}
	if err := <-watched; err != nil {
		t.Errorf("the watch ended with %v", err)
	}
}

func wantClientError(t *testing.T, err error, code yurt.Code, field string) {
	t.Helper()
	var coded *yurt.Error
	if !errors.As(err, &coded) || coded.Code != code || coded.Field != field || coded.Message == "" {
		t.Errorf("error %#v, want code %q and field %q", err, code, field)
	}
}

func TestClientStream(t *testing.T) {
	s := newServer(t)
	c, id := contract.Client(t, s.URL), s.session(t, "python-basic")
	var events []string
	collect := func(e yurt.Event) error {
		events = append(events, string(e.Type)+" "+string(e.Data))
		return nil
	}
	e, err := c.ExecuteStream(t.Context(), id, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "echo a raw warn b exit 4"}}, collect)
	want := []string{"started ", "stdout a\n", "stdout \xff\x00", "stderr b\n", "ended "}
	if err != nil || !slices.Equal(events, want) || e.Result.ExitCode != 4 || e.State != yurt.ExecutionFailed || e.ID == "" {
		t.Errorf("events %q, execution %+v, error %v", events, e, err)
	}
	events = nil
	if err := c.WatchExecution(t.Context(), id, e.ID, 2, collect); err != nil || !slices.Equal(events, want[2:]) {
		t.Errorf("events %q, error %v", events, err)
	}
	stop := errors.New("enough")
	if err := c.WatchExecution(t.Context(), id, e.ID, 0, func(yurt.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want that of the watcher", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = c.ExecuteStream(ctx, id, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "block"}}, func(yurt.Event) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestClientResumesStream cuts the first connections after a few bytes.
func TestClientResumesStream(t *testing.T) {
	s := newServer(t)
	var connections atomic.Int32
	cutter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if connections.Add(1) > 4 {
			s.api.ServeHTTP(w, r)
			return
		}
		s.api.ServeHTTP(&cutWriter{ResponseWriter: w, left: 700}, r)
	}))
	t.Cleanup(cutter.Close)
	c := newClient(t, cutter.URL)
	var text strings.Builder
	script := strings.Repeat("echo 0123456789 ", 30)
	e, err := c.ExecuteStream(t.Context(), s.session(t, "python-basic"), yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: script}}, func(e yurt.Event) error {
		text.Write(e.Data)
		return nil
	})
	want := strings.Repeat("0123456789\n", 30)
	if err != nil || text.String() != want || e.Result.Stdout != want {
		t.Errorf("the stream was %q, execution %+v, error %v", text.String(), e, err)
	}
	if connections.Load() != 5 {
		t.Errorf("it took %d connections", connections.Load())
	}
}

// cutWriter breaks the connection after some bytes of an event stream.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *cutWriter) Write(data []byte) (int, error) {
	if len(data) > w.left {
		_, _ = w.ResponseWriter.Write(data[:w.left])
		return w.left, errors.New("cut off")
	}
	w.left -= len(data)
	return w.ResponseWriter.Write(data)
}

func TestClientWithoutServer(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:8700", "ftp://127.0.0.1", "http://"} {
		_, err := yurtclient.New(url)
		wantClientError(t, err, yurt.CodeInvalidArgument, "url")
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	wantClientError(t, newClient(t, gone.URL).Ready(t.Context()), yurt.CodeUnavailable, "")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	wantClientError(t, newClient(t, other.URL).Ready(t.Context()), yurt.CodeInternal, "")
}
