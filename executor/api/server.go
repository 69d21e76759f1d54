package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
	"github.com/yurtrun/yurt/internal/tracing"
)

const (
	handshakeLimit = 10 * time.Second // for a caller to identify itself
	callLimit      = 2 * time.Minute  // of a call that has one answer
	pingEvery      = 30 * time.Second // on a connection that is quiet
	pingLimit      = 10 * time.Second // for the answer
	pingLeast      = 10 * time.Second // a caller that pings more often is cut off
	window         = 1 << 20          // bytes of a stream that are on their way at once
	maxStreams     = 10_000           // calls at once on one connection
	maxHeaders     = 64 << 10         // bytes of a call's headers
)

// ServerConfig holds the settings of a [Server].
type ServerConfig struct {
	Node    Node
	Name    string // of the node
	Version string // of Yurt
	// Announced means that controllers learn of the node.
	Announced bool
	Logger    *slog.Logger
	Tracer    trace.Tracer // nil makes no spans
}

// Server offers a node to callers. Its methods may be called concurrently.
type Server struct {
	config ServerConfig
	logger *slog.Logger
	ctx    context.Context // done when watching and waiting calls must return
	stop   context.CancelFunc
	group  errgroup.Group

	mu      sync.Mutex
	servers []*grpc.Server // a listener each
}

// NewServer returns a server that does not listen yet.
func NewServer(config ServerConfig) *Server {
	s := &Server{config: config, logger: config.Logger}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// ServeUnix answers callers on a socket that [ListenUnix] made, in the background.
// It is called before Wait and Shutdown.
func (s *Server) ServeUnix(listener net.Listener) {
	s.serve(listener, &peerCredentials{logger: s.logger})
}

// serve answers the callers that pass the credentials.
func (s *Server) serve(listener net.Listener, creds credentials.TransportCredentials, more ...grpc.ServerOption) {
	server := grpc.NewServer(append([]grpc.ServerOption{
		grpc.Creds(creds),
		grpc.ConnectionTimeout(handshakeLimit),
		grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage), grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingEvery, Timeout: pingLimit}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingLeast, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream),
	}, more...)...)
	proto.RegisterNodeServer(server, &nodeServer{config: s.config})
	proto.RegisterSandboxesServer(server, &sandboxServer{node: s.config.Node})
	proto.RegisterReservesServer(server, &reserveServer{node: s.config.Node})
	proto.RegisterSlotsServer(server, &slotServer{node: s.config.Node})
	proto.RegisterContextsServer(server, &contextServer{node: s.config.Node})
	proto.RegisterExecutionsServer(server, &executionServer{node: s.config.Node})
	proto.RegisterFilesServer(server, &fileServer{node: s.config.Node})
	s.mu.Lock()
	s.servers = append(s.servers, server)
	s.mu.Unlock()
	s.group.Go(func() error {
		if err := server.Serve(listener); err != nil {
			s.cutOff()
			return fmt.Errorf("serving the executor's API on %s: %w", listener.Addr(), err)
		}
		return nil
	})
}

// cutOff ends every listener and every call.
func (s *Server) cutOff() {
	for _, server := range s.list() {
		server.Stop()
	}
}

func (s *Server) list() []*grpc.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.servers)
}

// Wait returns when a listener fails, which ends the others, or all are shut down.
func (s *Server) Wait() error { return s.group.Wait() }

// Shutdown takes no new calls, ends watching and waiting calls with a hint to repeat them later, and waits for the
// other calls until ctx is done, when they are cut off.
func (s *Server) Shutdown(ctx context.Context) {
	s.stop()
	defer context.AfterFunc(ctx, s.cutOff)()
	for _, server := range s.list() {
		server.GracefulStop()
	}
}

// limit bounds a call that has one answer, on both sides. Writing stdin is not bounded, as it waits for the process to read.
func limit(ctx context.Context, method string) (context.Context, context.CancelFunc) {
	if method == proto.Executions_WriteStdin_FullMethodName {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, callLimit)
}

// enter continues the request that the call belongs to.
func (s *Server) enter(ctx context.Context, method string) (context.Context, trace.Span) {
	fields, _ := metadata.FromIncomingContext(ctx)
	first := func(field string) string {
		if values := fields.Get(field); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	if id := first("x-request-id"); id != "" {
		ctx = tracing.WithRequest(ctx, id)
	}
	return tracing.Enter(ctx, s.config.Tracer, strings.TrimPrefix(method, "/"), first)
}

// unary is around every call that has one answer.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	ctx, cancel := limit(ctx, info.FullMethod)
	defer cancel()
	ctx, span := s.enter(ctx, info.FullMethod)
	defer func() { tracing.End(span, err) }()
	defer s.noteCall(ctx, info.FullMethod, time.Now(), &err)
	defer s.recovered(info.FullMethod, &err)
	answer, err = handle(ctx, req)
	if err != nil {
		return nil, s.failed(info.FullMethod, err)
	}
	return answer, nil
}

// stream is around every call that has parts.
func (s *Server) stream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	entered, span := s.enter(stream.Context(), info.FullMethod)
	defer func() { tracing.End(span, err) }()
	defer s.noteCall(entered, info.FullMethod, time.Now(), &err)
	defer s.recovered(info.FullMethod, &err)
	if info.IsServerStream {
		ctx, cancel := context.WithCancel(entered)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		stream = &stoppable{stream, ctx}
	}
	err = handle(service, stream)
	switch {
	case err == nil:
		return nil
	case s.ctx.Err() != nil && yurt.CodeOf(err) == yurt.CodeCanceled:
		return wire.EncodeError(yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down; ask again"))
	default:
		return s.failed(info.FullMethod, err)
	}
}

// stoppable is a stream whose context ends with the server.
type stoppable struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // it is how gRPC hands over a stream's context
}

func (s *stoppable) Context() context.Context { return s.ctx }

// noteCall logs a call that is over.
func (s *Server) noteCall(ctx context.Context, method string, begin time.Time, err *error) {
	if s.logger.Enabled(ctx, slog.LevelDebug) {
		s.logger.DebugContext(ctx, "call", "method", method, "status", status.Code(*err).String(), "duration_ms", float64(time.Since(begin))/float64(time.Millisecond))
	}
}

// failed returns the error for the caller, and logs internal errors.
func (s *Server) failed(method string, err error) error {
	if yurt.CodeOf(err) == yurt.CodeInternal {
		s.logger.Error("call failed", "method", method, "error", err)
	}
	return wire.EncodeError(err)
}

// recovered turns a panic into the error of its one call.
func (s *Server) recovered(method string, err *error) {
	if fault := recover(); fault != nil {
		s.logger.Error("call panicked", "method", method, "panic", fault, "stack", string(debug.Stack()))
		*err = wire.EncodeError(yurt.Errorf(yurt.CodeInternal, "the executor failed; its log says more"))
	}
}

// nodeServer serves the executor's description of itself.
type nodeServer struct {
	proto.UnimplementedNodeServer
	config ServerConfig
}

func (s *nodeServer) Describe(context.Context, *proto.DescribeRequest) (*proto.DescribeResponse, error) {
	return &proto.DescribeResponse{Node: s.config.Name, Version: s.config.Version, Announced: &s.config.Announced}, nil
}

func (s *nodeServer) ListRuntimes(ctx context.Context, _ *proto.ListRuntimesRequest) (*proto.ListRuntimesResponse, error) {
	runtimes, err := s.config.Node.Runtimes(ctx)
	if err != nil {
		return nil, err
	}
	data, err := wire.EncodeAll(runtimes)
	return &proto.ListRuntimesResponse{Runtimes: data}, err
}
