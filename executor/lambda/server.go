package lambda

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/yurtrun/yurt"
)

// Bounds of the function's use of the server.
const (
	// MaxBody bounds an answer, in bytes, as Lambda does.
	MaxBody        = 6 << 20
	maxHeader      = 64 << 10
	maxConnections = 16
	headerTimeout  = 10 * time.Second
	// A client needs two requests an invocation. With more than these it waits before each,
	// lest a function to which they cost little keep the host busy.
	maxRequests  = 16
	requestPause = 20 * time.Millisecond
)

// Invocation is one call of the function.
type Invocation struct {
	ID       string
	Event    []byte
	Deadline time.Time
	ARN      string
	TraceID  string
	// ClientContext and Identity are JSON; empty if the invocation does not set them.
	ClientContext, Identity string
}

// Answer is the function's answer to an invocation. Error is nil when it returned.
type Answer struct {
	ID     string
	Result json.RawMessage
	Error  *yurt.ExecutionError
	// Init says that the function could not be loaded, and that its process ends.
	Init bool
}

// Told are the calls by which a server reports the function's answers. They may be made from any goroutine, those of
// one invocation in order.
type Told struct {
	// Answer is called with the answer to each invocation, before the function learns
	// that it was taken.
	Answer func(Answer)
	// Piece is called with each piece of a streamed response as it comes, before the answer,
	// which has all of it.
	Piece func(Piece)
}

// Server is the Runtime API of one function. Its methods may be called concurrently.
type Server struct {
	http     *http.Server
	handling sync.WaitGroup
	closed   chan struct{}
	close    sync.Once
	told     Told
	whole    chan struct{} // holds a value while a body is read that counts when it is whole
	pieces   chan struct{} // likewise, of one that is passed on as it comes

	mu        sync.Mutex
	requests  int             // since the last invocation
	next      chan Invocation // holds the invocation that the function has not asked for yet
	current   string          // id of the invocation that has no answer; "" for none
	streaming string          // id of the invocation whose response was last passed on in pieces
	failed    *yurt.ExecutionError
	refused   chan struct{} // closed once an invocation was answered with that
}

// New returns a server that has no invocation yet.
func New(told Told) *Server {
	s := &Server{told: told, closed: make(chan struct{}), refused: make(chan struct{}), next: make(chan Invocation, 1), whole: make(chan struct{}, 1), pieces: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	const root = "/2018-06-01/runtime/"
	mux.HandleFunc("GET "+root+"invocation/next", s.giveNext)
	mux.HandleFunc("POST "+root+"invocation/{id}/response", s.takeResponse)
	mux.HandleFunc("POST "+root+"invocation/{id}/error", s.takeError)
	mux.HandleFunc("POST "+root+"init/error", s.takeInitError)
	s.http = &http.Server{
		Handler: s.calm(mux), ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), // the function's mistakes do not belong into the node's log
	}
	return s
}

// Serve answers at the listener until Close.
func (s *Server) Serve(listener net.Listener) error {
	err := s.http.Serve(netutil.LimitListener(listener, maxConnections))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the runtime API: %w", err)
}

// Close ends every connection, and returns when no handler runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.close.Do(func() { close(s.closed) }) // no handler begins after this
	s.mu.Unlock()
	err := s.http.Close()
	s.handling.Wait()
	return err
}

// begin counts a handler, unless the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
		s.handling.Add(1)
		return true
	}
}

// enter waits until a body may be read; the caller receives from reading when it has read the body. A function has
// one answer to give: bodies are read one after the other, lest the host hold one for each connection.
// It reports false if the server was closed before.
func (s *Server) enter(reading chan struct{}) bool {
	select {
	case reading <- struct{}{}:
		return true
	case <-s.closed:
		return false
	}
}

// Invoke hands over an invocation, and does not wait for its answer. The one before has
// to be answered, and the server not to be closed.
func (s *Server) Invoke(invocation Invocation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != "" {
		return fmt.Errorf("invocation %s has no answer yet", s.current)
	}
	if failed := s.failed; failed != nil {
		s.handling.Go(func() { s.refuseInvocation(invocation.ID, failed) })
		return nil
	}
	s.current, s.requests = invocation.ID, 0
	s.next <- invocation
	return nil
}

// Fail says that the function could not be loaded, in place of its client, whose process has
// ended. It returns when an invocation was answered with that, or the server is closed.
func (s *Server) Fail(failed *yurt.ExecutionError) {
	s.fail(failed)
	select {
	case <-s.refused:
	case <-s.closed:
	}
}

// fail answers the invocation that is under way, if there is one, and those to come.
func (s *Server) fail(failed *yurt.ExecutionError) {
	s.mu.Lock()
	id := s.current
	s.current = ""
	if s.failed == nil {
		s.failed = failed
	}
	s.mu.Unlock()
	if id != "" {
		s.refuseInvocation(id, failed)
	}
}

func (s *Server) refuseInvocation(id string, failed *yurt.ExecutionError) {
	s.told.Answer(Answer{ID: id, Error: failed, Init: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.refused:
	default:
		close(s.refused)
	}
}

func (s *Server) giveNext(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.handling.Done()
	var invocation Invocation
	select {
	case invocation = <-s.next:
	case <-s.closed:
		return
	case <-r.Context().Done():
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(invocation.Event)))
	for name, value := range map[string]string{
		"Lambda-Runtime-Aws-Request-Id":       invocation.ID,
		"Lambda-Runtime-Deadline-Ms":          strconv.FormatInt(invocation.Deadline.UnixMilli(), 10),
		"Lambda-Runtime-Invoked-Function-Arn": invocation.ARN,
		"Lambda-Runtime-Trace-Id":             invocation.TraceID,
		"Lambda-Runtime-Client-Context":       invocation.ClientContext,
		"Lambda-Runtime-Cognito-Identity":     invocation.Identity,
	} {
		if value != "" {
			header.Set(name, value)
		}
	}
	_, _ = w.Write(invocation.Event) // a function that does not read it gets no other before its time is up
}

func (s *Server) takeResponse(w http.ResponseWriter, r *http.Request) {
	if isStreamed(r) {
		s.takeStream(w, r)
		return
	}
	s.take(w, r, func(body []byte) Answer {
		if failed := streamError(r); failed != nil {
			return Answer{Error: failed}
		}
		result, failed := decodeResult(body)
		return Answer{Result: result, Error: failed}
	})
}

func (s *Server) takeError(w http.ResponseWriter, r *http.Request) {
	s.take(w, r, func(body []byte) Answer {
		return Answer{Error: decodeError(body, r.Header.Get(errorTypeHeader))}
	})
}

// take reads the answer to the invocation that is under way.
func (s *Server) take(w http.ResponseWriter, r *http.Request, decode func([]byte) Answer) {
	if !s.begin() {
		return
	}
	defer s.handling.Done()
	if !s.enter(s.whole) {
		return
	}
	defer func() { <-s.whole }()
	id := r.PathValue("id")
	if !s.isCurrent(id) {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "no invocation of this id is under way")
		return
	}
	body, err := readBody(w, r)
	var tooLarge *http.MaxBytesError
	var answer Answer
	switch {
	case errors.As(err, &tooLarge):
		answer = Answer{Error: responseTooLarge()}
	case err != nil: // it went away in the middle, and may try again
		return
	default:
		answer = decode(body)
	}
	s.answer(w, id, answer, tooLarge != nil)
}

// answer passes on the answer to an invocation, unless that has one already.
func (s *Server) answer(w http.ResponseWriter, id string, answer Answer, tooLarge bool) {
	if !s.claim(id) {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "the invocation has an answer already")
		return
	}
	answer.ID = id
	s.told.Answer(answer)
	if tooLarge {
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", answer.Error.Message)
		return
	}
	accept(w)
}

func (s *Server) takeInitError(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.handling.Done()
	if !s.enter(s.whole) {
		return
	}
	defer func() { <-s.whole }()
	body, err := readBody(w, r)
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "the error could not be read")
		return
	}
	s.fail(decodeError(body, r.Header.Get(errorTypeHeader)))
	accept(w)
}

// readBody reads a body within its bound. One that never comes ends with the connection.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	return body, nil
}

func (s *Server) isCurrent(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return id != "" && s.current == id
}

// claim makes the caller the one whose answer counts.
func (s *Server) claim(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != id {
		return false
	}
	s.current = ""
	select {
	case <-s.next: // answered without a request for it: the function does not get it any more
	default:
	}
	return true
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`) // the function's loss
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body, err := json.Marshal(map[string]string{"errorType": kind, "errorMessage": message})
	if err == nil {
		_, _ = w.Write(body) // the function's loss
	}
}
