package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// goOn is the file that a function which streams waits for, after its first piece.
const goOn = "/workspace/go-on"

// session is one of a server's, where functions are invoked through the REST API.
type session struct {
	*yurtclient.Client

	id, url, yurt string
}

func newSession(t *testing.T, function, to string) *session {
	t.Helper()
	testutil.NeedsSandboxes(t)
	program := testutil.BuildYurt(t, "yurt", "test")
	url, client := testutil.Serve(t, program)
	made, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic", Mode: yurt.ModePersistent})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{client, made.ID, url, program}
	if _, err := s.UnpackFiles(t.Context(), s.id, to, packed(t, function)); err != nil {
		t.Fatal(err)
	}
	return s
}

// answer lets the function go on, which waits for that after its first piece.
func (s *session) answer(ctx context.Context) error {
	_, err := s.PutFile(ctx, s.id, goOn, strings.NewReader(""))
	return err
}

// again makes the next invocation wait.
func (s *session) again(t *testing.T) {
	t.Helper()
	if err := s.RemoveFile(t.Context(), s.id, goOn, false); err != nil {
		t.Fatal(err)
	}
}

// TestStreamsByREST watches functions of the official clients that stream: by server-sent events,
// by WebSocket and with the command line. Each piece comes while the function waits for a step that
// follows its receipt.
func TestStreamsByREST(t *testing.T) {
	t.Parallel()
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		s := newSession(t, goBuilt(t), "/workspace")
		s.wantStreams(t, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"./bootstrap"}}, Handler: "stream"}, "one", "two")
	})
	t.Run("node", func(t *testing.T) {
		t.Parallel()
		s := newSession(t, nodePackages(t), nodeClient)
		if _, err := s.PutFile(t.Context(), s.id, "index.mjs", strings.NewReader(nodeApp)); err != nil {
			t.Fatal(err)
		}
		const handler = "index.live"
		s.wantStreams(t, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"/usr/bin/node", nodeClient + "/index.mjs", handler}}, Handler: handler}, "ö1", "2")
	})
}

func (s *session) wantStreams(t *testing.T, function yurtclient.ExecuteRequest, first, second string) {
	t.Helper()
	function.Event = json.RawMessage("{}")
	s.wantEvents(t, function, first, second)
	s.again(t)
	s.wantMessages(t, function, first, second)
	s.again(t)
	s.wantPrinted(t, function, first, second)
}

// wantEvents watches by server-sent events.
func (s *session) wantEvents(t *testing.T, function yurtclient.ExecuteRequest, first, second string) {
	t.Helper()
	var pieces []string
	execution, err := s.ExecuteStream(t.Context(), s.id, function, func(e yurt.Event) error {
		if e.Type != yurt.EventResponse {
			return nil
		}
		if pieces = append(pieces, string(e.Data)); len(pieces) > 1 {
			return nil
		}
		return s.answer(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(pieces, "|"); got != first+"|"+second || string(execution.Result.Result) != `"`+first+second+`"` {
		t.Errorf("by server-sent events: %q, result %+v", got, execution.Result)
	}
}

// wantMessages watches by WebSocket.
func (s *session) wantMessages(t *testing.T, function yurtclient.ExecuteRequest, first, second string) {
	t.Helper()
	started, err := s.Start(t.Context(), s.id, function)
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/api/v1/sessions/"+s.id+"/executions/"+started.ID+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	var seen []string
	for {
		_, message, err := conn.Read(t.Context())
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var event struct{ Type, Data string }
		if err := json.Unmarshal(message, &event); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, event.Type+event.Data)
		if event.Type == "response" && event.Data == first {
			if err := s.answer(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := strings.Join(seen, "|"); got != "started|response"+first+"|response"+second+"|ended" {
		t.Errorf("by WebSocket: %q", got)
	}
}

// wantPrinted watches the output of the command line.
func (s *session) wantPrinted(t *testing.T, function yurtclient.ExecuteRequest, first, second string) {
	t.Helper()
	args := append([]string{"session", "exec", "--handler", function.Handler, "--event", "{}", s.id, "--"}, function.Command.Argv...)
	cmd := exec.CommandContext(t.Context(), s.yurt, args...)
	cmd.Env = append(os.Environ(), "YURT_SERVER="+s.url)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begin := make([]byte, len(first))
	_, reading := io.ReadFull(stdout, begin)
	answering := s.answer(t.Context())
	rest, err := io.ReadAll(stdout)
	if err := errors.Join(reading, answering, err, cmd.Wait()); err != nil {
		t.Errorf("%v; it said %q", err, stderr.String())
	}
	if string(begin) != first || string(rest) != second {
		t.Errorf("printed %q, then %q; want %q, then %q", begin, rest, first, second)
	}
}
