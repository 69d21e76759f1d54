package sdk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestGoBadInput shows that wrong values are refused, and that a client that leaves leaves no process and no file behind.
func TestGoBadInput(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	client, err := yurtclient.New(url)
	if err != nil {
		t.Fatal(err)
	}
	box, err := client.Create(t.Context(), yurtclient.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("values", func(t *testing.T) { goWrongValues(t, client, box) })
	t.Run("results", func(t *testing.T) { goOddResults(t, box) })
	t.Run("leaving", func(t *testing.T) { goLeaving(t, box) })
	t.Run("download", func(t *testing.T) { goBrokenDownload(t, box) })
	t.Run("unread terminal", func(t *testing.T) { goUnreadTerminal(t, box) })
	if _, err := box.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	for session, err := range client.List(t.Context(), yurtclient.SessionFilter{}) {
		t.Errorf("sandbox %s is left (%v)", session.ID, err)
	}
}

// badCall is a call that is refused with a code, about a field.
type badCall struct {
	name  string
	code  yurt.Code
	field string
	call  func(context.Context) error
}

func failing[T any](_ T, err error) error { return err }

func goBadCode(box *yurtclient.Sandbox) []badCall {
	running := func(req yurtclient.ExecuteRequest) func(context.Context) error {
		return func(ctx context.Context) error { return failing(box.Run(ctx, req)) }
	}
	invoking := func(event any) func(context.Context) error {
		handler := yurtclient.ExecuteRequest{Language: "python", Code: "def handler(event, context): pass"}
		return func(ctx context.Context) error { return failing(box.Invoke(ctx, handler, event)) }
	}
	const invalid = yurt.CodeInvalidArgument
	return []badCall{
		{"code of bytes", invalid, "code", running(yurtclient.ExecuteRequest{Language: "python", Code: "print('\xff')"})},
		{"language of bytes", invalid, "language", running(yurtclient.ExecuteRequest{Language: "\xff", Code: "1"})},
		{"unknown language", yurt.CodeLanguageNotSupported, "language", running(yurtclient.ExecuteRequest{Language: "klingon", Code: "1"})},
		{"argument of bytes", invalid, "command", running(yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"echo", "\xff"}}})},
		{"variable of bytes", invalid, "env", running(yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "true"}, Env: map[string]string{"A": "\xff"}})},
		{"path of bytes", invalid, "files", running(yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "true"}, Files: yurtclient.Files{"\xff": nil}})},
		{"event of NaN", invalid, "event", invoking([]float64{math.NaN()})},
		{"event of a function", invalid, "event", invoking(func() {})},
		{"event of bytes", invalid, "event", invoking(map[string]any{"a": []string{"\xff"}})},
		{"negative timeout", yurt.CodeLimitOutOfRange, "timeout", func(ctx context.Context) error { return failing(box.SetTimeout(ctx, -time.Second, 0)) }},
		{"unknown context", yurt.CodeContextNotFound, "", func(ctx context.Context) error { return box.RestartContext(ctx, "nope", "") }},
		{"unknown execution", yurt.CodeExecutionNotFound, "", func(ctx context.Context) error { return failing(box.Execution("exe_nope").Wait(ctx)) }},
	}
}

func goBadFiles(box *yurtclient.Sandbox) []badCall {
	reading := func(path string) func(context.Context) error {
		return func(ctx context.Context) error { return failing(box.Files.Read(ctx, path)) }
	}
	writing := func(path string) func(context.Context) error {
		return func(ctx context.Context) error { return failing(box.Files.Write(ctx, path, nil)) }
	}
	const invalid, outside = yurt.CodeInvalidPath, yurt.CodePathOutsideWorkspace
	return []badCall{
		{"path with a line break", invalid, "path", writing("a\nb")},
		{"path of bytes", invalid, "path", writing("\xff")},
		{"path above", outside, "path", reading("..")},
		{"path above and aside", outside, "path", reading("a/../../x")},
		{"no file", yurt.CodeFileNotFound, "path", reading("absent")},
		{"directory of a terminal", yurt.CodeInvalidArgument, "cwd", func(ctx context.Context) error {
			return failing(box.Terminal(ctx, yurtclient.TerminalRequest{Cwd: "/nope"}))
		}},
	}
}

func goBadClients(client *yurtclient.Client) []badCall {
	connecting := func(id string) func(context.Context) error {
		return func(ctx context.Context) error { return failing(client.Connect(ctx, id)) }
	}
	creating := func(req yurtclient.CreateSessionRequest) func(context.Context) error {
		return func(ctx context.Context) error { return failing(client.Create(ctx, req)) }
	}
	return []badCall{
		{"unknown sandbox", yurt.CodeSessionNotFound, "", connecting("ses_nope")},
		{"sandbox of no name", yurt.CodeInvalidArgument, "id", connecting("")},
		{"sandbox above", yurt.CodeInvalidArgument, "id", connecting("..")},
		{"unknown template", yurt.CodeTemplateNotFound, "template_id", creating(yurtclient.CreateSessionRequest{TemplateID: "absent"})},
		{"metadata of bytes", yurt.CodeInvalidArgument, "metadata", creating(yurtclient.CreateSessionRequest{Metadata: map[string]string{"a": "\xff"}})},
		{"address of another kind", yurt.CodeInvalidArgument, "url", func(context.Context) error { return failing(yurtclient.New("ftp://x")) }},
		{"no server", yurt.CodeUnavailable, "", func(ctx context.Context) error {
			nowhere, err := yurtclient.New("http://127.0.0.1:1", yurtclient.WithPatience(100*time.Millisecond))
			if err != nil {
				return err
			}
			return failing(nowhere.Create(ctx, yurtclient.CreateSessionRequest{}))
		}},
	}
}

func goWrongValues(t *testing.T, client *yurtclient.Client, box *yurtclient.Sandbox) {
	t.Helper()
	for _, bad := range append(append(goBadCode(box), goBadFiles(box)...), goBadClients(client)...) {
		err := bad.call(t.Context())
		var coded *yurt.Error
		if !errors.As(err, &coded) || coded.Code != bad.code || coded.Field != bad.field {
			t.Errorf("%s: %v (%s) was returned, expected %s of %q", bad.name, err, yurt.CodeOf(err), bad.code, bad.field)
		}
	}
}

func goOddResults(t *testing.T, box *yurtclient.Sandbox) {
	t.Helper()
	handler := yurtclient.ExecuteRequest{Language: "python", Code: "def handler(event, context):\n    return float('nan')"}
	if result, err := box.Invoke(t.Context(), handler, nil); err != nil || result.Error == nil || result.Error.Type != "ResultNotSerializable" {
		t.Errorf("a handler that returns NaN gives %+v (%v), expected ResultNotSerializable", result, err)
	}
	if result, err := box.RunCode(t.Context(), "python", "float('nan')"); err != nil || result.Error != nil || string(result.Result) != "null" {
		t.Errorf("code whose value is NaN gives %+v (%v), expected null", result, err)
	}
	if result, err := box.RunCommand(t.Context(), `printf '\377'`); err != nil || result.Stdout != "\ufffd" {
		t.Errorf("a byte that is no text gives %+v (%v), expected a replacement character", result, err)
	}
	if _, err := box.Files.Write(t.Context(), "raw", []byte{0, 0xff}); err != nil {
		t.Error(err)
	}
	if text, err := box.Files.ReadText(t.Context(), "raw"); yurt.CodeOf(err) != yurtclient.CodeNotText {
		t.Errorf("bytes that are no text are read as %q (%v), expected %s", text, err, yurtclient.CodeNotText)
	}
}

func sleepers(t *testing.T, box *yurtclient.Sandbox) int {
	t.Helper()
	processes, err := box.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for i := range processes {
		if processes[i].Name == "sleep" {
			count++
		}
	}
	return count
}

// goLeaving cancels commands before the server has named them and while they run, and leaves a loop.
func goLeaving(t *testing.T, box *yurtclient.Sandbox) {
	t.Helper()
	for _, wait := range []time.Duration{0, time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		if result, err := box.RunCommand(ctx, "sleep 60"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a command whose context ended gives %+v (%v), expected the context's error", result, err)
		}
		cancel()
	}
	testutil.Eventually(t, "commands whose callers left have ended", func() bool { return sleepers(t, box) == 0 })
	execution, err := box.Stream(t.Context(), yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "sleep 60"}})
	if err != nil {
		t.Fatal(err)
	}
	for range execution.Events(t.Context()) {
		break
	}
	testutil.Eventually(t, "a command goes on when its loop is left", func() bool { return sleepers(t, box) == 1 })
	if err := execution.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if left := sleepers(t, box); left != 0 {
		t.Errorf("%d commands run on after they were cancelled, expected none", left)
	}
}

// goBrokenDownload breaks transfers off in the middle.
func goBrokenDownload(t *testing.T, box *yurtclient.Sandbox) {
	t.Helper()
	dir := t.TempDir()
	if size, err := box.Files.Download(t.Context(), "nope", filepath.Join(dir, "file"), nil); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("a file that is not there gives %d bytes (%v), expected %s", size, err, yurt.CodeFileNotFound)
	}
	if _, err := box.Files.Upload(t.Context(), bytes.NewReader(make([]byte, 8<<20)), "big", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if size, err := box.Files.Download(ctx, "big", filepath.Join(dir, "file"), func(int64, int64) { cancel() }); err == nil {
		t.Errorf("a download whose context ended gives %d bytes, expected an error", size)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("failed downloads left %v (%v), expected no file", left, err)
	}
	broken := io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), brokenReader{})
	if info, err := box.Files.Upload(t.Context(), broken, "half", nil); err == nil {
		t.Errorf("an upload whose source breaks gives %+v, expected an error", info)
	}
	if info, err := box.Files.Stat(t.Context(), "half"); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("an upload that broke off left %+v (%v), expected no file", info, err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the source is broken") }

// goUnreadTerminal shows that a terminal whose output is not read holds little of it, and goes on when it is.
func goUnreadTerminal(t *testing.T, box *yurtclient.Sandbox) {
	t.Helper()
	const shown = 40_000_000
	terminal, err := box.Terminal(t.Context(), yurtclient.TerminalRequest{Command: "head -c 40000000 /dev/zero; echo; echo end"})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	time.Sleep(1500 * time.Millisecond)
	var memory runtime.MemStats
	if runtime.ReadMemStats(&memory); memory.HeapAlloc > 32<<20 {
		t.Errorf("%d MiB are held while the terminal is not read, expected little", memory.HeapAlloc>>20)
	}
	size, tail := 0, []byte(nil)
	for {
		data, exit, err := terminal.Next(t.Context())
		if err != nil {
			t.Fatalf("after %d bytes: %v", size, err)
		}
		if exit != nil {
			break
		}
		size += len(data)
		tail = append(tail, data...)
		tail = tail[max(0, len(tail)-5):]
	}
	if size < shown || string(tail) != "end\r\n" {
		t.Errorf("%d bytes were shown, and last %q, expected %d and the end", size, tail, shown)
	}
}
