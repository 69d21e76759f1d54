package api

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
	"github.com/yurtrun/yurt/internal/tracing"
)

const (
	dialLimit  = 10 * time.Second // to connect, and to verify the peer
	retryLeast = 50 * time.Millisecond
	retryMost  = 2 * time.Second
)

// Client is an executor elsewhere. Its methods are those of one and may be called
// concurrently.
type Client struct {
	close      func() error
	node       proto.NodeClient
	sandboxes  proto.SandboxesClient
	reserves   proto.ReservesClient
	slots      proto.SlotsClient
	executions proto.ExecutionsClient
	contexts   proto.ContextsClient
	files      proto.FilesClient
}

var _ Node = (*Client)(nil)

// NewUnixClient returns a client of the executor that listens on the socket at path.
// It connects when it is first used, and again whenever that is needed.
func NewUnixClient(path string) (*Client, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the executor's socket: %w", err)
	}
	conn, err := dial("unix://"+path, insecure.NewCredentials())
	if err != nil {
		return nil, err
	}
	return newClient(conn, conn.Close), nil
}

func dial(target string, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(target,
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingLimit}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryLeast, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retryMost},
			MinConnectTimeout: dialLimit,
		}),
		grpc.WithUnaryInterceptor(unaryCall), grpc.WithStreamInterceptor(streamCall),
	)
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "connecting to the executor at %s: %w", target, err)
	}
	return conn, nil
}

func newClient(conn grpc.ClientConnInterface, closer func() error) *Client {
	return &Client{
		close: closer, node: proto.NewNodeClient(conn), sandboxes: proto.NewSandboxesClient(conn),
		reserves: proto.NewReservesClient(conn), slots: proto.NewSlotsClient(conn), contexts: proto.NewContextsClient(conn),
		executions: proto.NewExecutionsClient(conn), files: proto.NewFilesClient(conn),
	}
}

// Close ends the connection and the calls that are under way.
func (c *Client) Close() error { return c.close() }

// traced passes the context of the request on to the executor.
func traced(ctx context.Context) context.Context {
	var fields []string
	tracing.Inject(ctx, func(field, value string) { fields = append(fields, field, value) })
	if len(fields) == 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, fields...)
}

// unaryCall is around every call that has one answer.
func unaryCall(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	limited, cancel := limit(traced(ctx), method)
	defer cancel()
	return wire.DecodeError(ctx, invoke(limited, method, req, reply, conn, opts...))
}

// streamCall is around every call that has parts.
func streamCall(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(traced(ctx), desc, conn, method, opts...)
	if err != nil {
		return nil, wire.DecodeError(ctx, err)
	}
	return &clientStream{stream, ctx}, nil
}

// clientStream gives the executor's errors as they were.
type clientStream struct {
	grpc.ClientStream
	caller context.Context //nolint:containedctx // the stream's own context ends with the stream, for any reason
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil || wire.IsEnd(err) {
		return err
	}
	return wire.DecodeError(s.caller, err)
}

// Info is an executor's description of itself.
type Info struct {
	Node    string
	Version string
	// Announced is whether the executor tells controllers of itself; nil where an older one
	// does not say.
	Announced *bool
}

// Describe asks the executor for its description.
func (c *Client) Describe(ctx context.Context) (Info, error) {
	res, err := c.node.Describe(ctx, &proto.DescribeRequest{})
	if err != nil {
		return Info{}, err
	}
	return Info{Node: res.GetNode(), Version: res.GetVersion(), Announced: res.Announced}, nil
}

// Runtimes implements [Node].
func (c *Client) Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
	res, err := c.node.ListRuntimes(ctx, &proto.ListRuntimesRequest{})
	if err != nil {
		return nil, err
	}
	return wire.DecodeAll[yurt.RuntimeInfo](res.GetRuntimes())
}
