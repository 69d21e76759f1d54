package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
)

const instructions = `Yurt runs code in sandboxes: isolated Linux environments without a network, each with files in /workspace.
Pass sandbox_id to go on in a sandbox. run_code without one makes a sandbox and returns its id.
In a sandbox, variables and imports last from one run_code to the next. Name packages in dependencies to install them.
Large output and files are resources: yurt://session/SANDBOX_ID/PATH. End a sandbox with terminate_sandbox when you are done.`

// sendTime is how long a connection stays open after its last call has ended: the SDK sends an answer after the tool has returned,
// and does not say when.
const sendTime = 100 * time.Millisecond

// Server offers sandboxes as tools. It is safe for concurrent use.
type Server struct {
	config  Config
	log     *slog.Logger
	sdk     *sdk.Server
	clients clients

	connections connections

	draining context.Context // done once the server drains
	drain    context.CancelFunc
	mu       sync.Mutex // guards the start of calls against Close
	calls    sync.WaitGroup
}

// New returns a server. It does not listen: see [Server.Handler] and [Server.Run].
func New(config Config) (*Server, error) {
	if config.Sessions == nil || config.Executions == nil || config.Files == nil {
		return nil, errors.New("making the MCP server: it needs sessions, executions and files")
	}
	if err := config.Check(); err != nil {
		return nil, err
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: config, log: config.Logger, clients: clients{limits: config.Limits}}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.sdk = sdk.NewServer(
		&sdk.Implementation{Name: "yurt", Title: "Yurt sandboxes", Version: config.Version},
		&sdk.ServerOptions{
			Instructions: instructions,
			Logger:       slog.New(slog.DiscardHandler), // calls are logged here, and requests by the HTTP server
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		})
	if err := s.addTools(); err != nil {
		return nil, err
	}
	s.addResources()
	return s, nil
}

// Handler serves the server over streamable HTTP.
func (s *Server) Handler() http.Handler { return identified(s.disconnecting(NewHandler(s.sdk))) }

// Run serves one client over a transport until the client leaves or ctx ends.
func (s *Server) Run(ctx context.Context, transport sdk.Transport) error {
	return s.sdk.Run(ctx, transport)
}

// Close ends the calls under way with an error that says that the server shuts down, and then the
// connections. The executions go on.
func (s *Server) Close() {
	s.mu.Lock()
	s.drain()
	s.mu.Unlock()
	s.calls.Wait()
	time.Sleep(sendTime)
	for session := range s.sdk.Sessions() {
		if err := session.Close(); err != nil {
			s.log.Debug("an MCP connection did not close cleanly", "error", err)
		}
	}
}

// begin counts a call, which calls done at its end.
func (s *Server) begin() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Err() != nil {
		return nil, errDraining
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}

// untilDrain returns a context that also ends when the server drains.
func (s *Server) untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	return also(ctx, s.draining)
}

var errDraining = yurt.Errorf(yurt.CodeUnavailable, "the server is shutting down; executions go on, so call again later")
