package lambda_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/executor/lambda"
)

// streamed posts a streamed response, whose body the test writes, and returns how it was
// answered: the status, or 0 when there was no answer.
func (c *client) streamed(id string, body io.Reader) <-chan int {
	status := make(chan int, 1)
	url := "http://" + c.addr + "/2018-06-01/runtime/invocation/" + id + "/response"
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, url, body)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Lambda-Runtime-Function-Response-Mode", "streaming")
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	return status
}

// halfStreamed answers with a stream of which the first piece has come; w takes the rest.
func (c *client) halfStreamed(id string) (w *io.PipeWriter, status <-chan int) {
	c.t.Helper()
	body, w := io.Pipe()
	status = c.streamed(id, body)
	if _, err := io.WriteString(w, "half"); err != nil {
		c.t.Fatal(err)
	}
	<-c.pieces
	return w, status
}

// TestPiecesComeAtOnce has a response wait, between its pieces, until the one before was
// told of. No character is cut.
func TestPiecesComeAtOnce(t *testing.T) {
	c := newClient(t)
	c.invoke("id", "{}")
	body, w := io.Pipe()
	status := c.streamed("id", body)
	var all string
	for _, step := range []struct{ write, want string }{
		{"one", "one"}, {"tw\xc3", "tw"}, {"\xb6!", "ö!"}, {"a\xf0\x9f\x8d", "a"}, {"\xb5\xff", "🍵\xff"}, {"\xe2\x82", ""},
	} {
		if _, err := io.WriteString(w, step.write); err != nil {
			t.Fatal(err)
		}
		if step.want == "" {
			continue
		}
		if p := <-c.pieces; p.ID != "id" || string(p.Data) != step.want {
			t.Fatalf("after %q came %q of %s, want %q", step.write, p.Data, p.ID, step.want)
		}
		all += step.want
	}
	if resp, _ := c.do(http.MethodPost, "invocation/id/response", strings.NewReader("2"), func(r *http.Request) {
		r.Header.Set("Lambda-Runtime-Function-Response-Mode", "streaming")
	}); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a second stream beside the first: status %d", resp.StatusCode)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if p := <-c.pieces; string(p.Data) != "\xe2\x82" {
		t.Errorf("at the end came %q", p.Data)
	}
	if a := <-c.answers; a.Error != nil || len(a.Result) == 0 {
		t.Errorf("answer %s, %+v", a.Result, a.Error)
	}
	if got := <-status; got != http.StatusAccepted {
		t.Errorf("status %d", got)
	}
}

// TestStreamBreaksOff has a stream end in the middle while its process goes on.
func TestStreamBreaksOff(t *testing.T) {
	c := newClient(t)
	for _, id := range []string{"a", "b"} {
		c.invoke(id, "{}")
		body, w := io.Pipe()
		status := c.streamed(id, body)
		if _, err := io.WriteString(w, "half"); err != nil {
			t.Fatal(err)
		}
		<-c.pieces
		if err := w.CloseWithError(errors.New("broken")); err != nil {
			t.Fatal(err)
		}
		if a := <-c.answers; a.ID != id || a.Error == nil || a.Error.Type != "Runtime.TruncatedResponse" || !strings.Contains(a.Error.Message, "4 bytes") {
			t.Errorf("answer %+v, error %+v", a, a.Error)
		}
		if got := <-status; got != 0 {
			t.Errorf("status %d", got)
		}
	}
}

// TestStreamOfAnEndedProcess closes the server when a stream has broken off: the end of the process then decides the result.
func TestStreamOfAnEndedProcess(t *testing.T) {
	c := newClient(t)
	c.invoke("id", "{}")
	w, status := c.halfStreamed("id")
	if err := c.server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-status
	select {
	case a := <-c.answers:
		t.Errorf("answer %+v", a)
	default:
	}
}

// TestErrorDuringStream has another connection answer in the stream's place: the rest of the stream belongs to no
// invocation.
func TestErrorDuringStream(t *testing.T) {
	c := newClient(t)
	c.invoke("id", "{}")
	w, status := c.halfStreamed("id")
	c.do(http.MethodPost, "invocation/id/error", strings.NewReader(`{"errorType":"E"}`))
	if a := <-c.answers; a.Error == nil || a.Error.Type != "E" {
		t.Errorf("answer %+v", a)
	}
	c.invoke("next", "{}")
	if _, err := io.WriteString(w, "late"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != http.StatusBadRequest {
		t.Errorf("status %d", got)
	}
	if len(c.pieces) > 0 {
		t.Errorf("a piece came after the answer: %+v", <-c.pieces)
	}
}

// TestTinyPieces streams more pieces than are passed on one by one.
func TestTinyPieces(t *testing.T) {
	pieces, size := 0, 0
	answers := make(chan lambda.Answer, 1)
	c := newClientTold(t, lambda.Told{
		Answer: func(a lambda.Answer) { answers <- a },
		Piece:  func(p lambda.Piece) { pieces++; size += len(p.Data) },
	})
	c.invoke("id", "{}")
	const count = 100_000
	body, w := io.Pipe()
	status := c.streamed("id", body)
	for range count {
		if _, err := io.WriteString(w, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if a := <-answers; a.Error != nil || len(a.Result) != count+2 {
		t.Errorf("%d bytes of result, error %+v", len(a.Result), a.Error)
	}
	<-status
	if pieces > 10_100 || size != count {
		t.Errorf("%d bytes in %d pieces", size, pieces)
	}
}
