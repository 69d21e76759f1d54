package plugins

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/proto"
)

// grpcRuntimeV1 carries a [Runtime] over version 1 of the protocol. The host's
// side needs no runtime.
type grpcRuntimeV1 struct {
	plugin.NetRPCUnsupportedPlugin
	runtime Runtime
}

// GRPCServer registers the runtime in its own process.
func (p *grpcRuntimeV1) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	proto.RegisterRuntimeServer(server, &serverV1{runtime: p.runtime})
	return nil
}

// GRPCClient returns the host's view of the runtime, a [Runtime].
func (p *grpcRuntimeV1) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &clientV1{rpc: proto.NewRuntimeClient(conn)}, nil
}

// serverV1 answers calls with a runtime.
type serverV1 struct {
	proto.UnimplementedRuntimeServer
	runtime Runtime
}

func (s *serverV1) Describe(ctx context.Context, _ *proto.DescribeRequest) (res *proto.DescribeResponse, err error) {
	defer recoverTo(&err)
	info, err := s.runtime.Describe(ctx)
	if err != nil {
		return nil, errorToWire(err)
	}
	return infoToWire(info), nil
}

func (s *serverV1) Plan(ctx context.Context, req *proto.PlanRequest) (res *proto.PlanResponse, err error) {
	defer recoverTo(&err)
	plan, err := s.runtime.Plan(ctx, requestFromWire(req))
	if err != nil {
		return nil, errorToWire(err)
	}
	if err := plan.Validate(); err != nil {
		return nil, errorToWire(yurt.Errorf(yurt.CodeInternal, "the runtime made a bad plan: %w", err))
	}
	return planToWire(plan), nil
}

func (s *serverV1) Interpret(ctx context.Context, req *proto.InterpretRequest) (res *proto.InterpretResponse, err error) {
	defer recoverTo(&err)
	interpreter, ok := s.runtime.(Interpreter)
	if !ok {
		return s.UnimplementedRuntimeServer.Interpret(ctx, req)
	}
	found, err := interpreter.Interpret(ctx, failureFromWire(req))
	if err != nil {
		return nil, errorToWire(err)
	}
	return executionErrorToWire(found), nil
}

func (s *serverV1) PlanDependencies(ctx context.Context, req *proto.DependencyRequest) (res *proto.DependencyResponse, err error) {
	defer recoverTo(&err)
	planner, ok := s.runtime.(DependencyPlanner)
	if !ok {
		return s.UnimplementedRuntimeServer.PlanDependencies(ctx, req)
	}
	plan, err := planner.PlanDependencies(ctx, dependencyRequestFromWire(req))
	if err != nil {
		return nil, errorToWire(err)
	}
	if err := plan.Validate(); err != nil {
		return nil, errorToWire(yurt.Errorf(yurt.CodeInternal, "the runtime made a bad plan: %w", err))
	}
	return dependencyPlanToWire(plan), nil
}

// recoverTo turns a panic into the error of its one call, so that the calls that
// run beside it survive.
func recoverTo(err *error) {
	cause := recover()
	if cause == nil {
		return
	}
	hclog.Default().Error("runtime panicked", "panic", cause, "stack", string(debug.Stack()))
	*err = errorToWire(yurt.Errorf(yurt.CodeInternal, "the runtime panicked: %v", cause))
}

// clientV1 is the host's view of a runtime in another process.
type clientV1 struct {
	rpc proto.RuntimeClient
}

var (
	_ Runtime           = (*clientV1)(nil)
	_ Interpreter       = (*clientV1)(nil)
	_ DependencyPlanner = (*clientV1)(nil)
)

func (c *clientV1) Describe(ctx context.Context) (yurt.RuntimeInfo, error) {
	res, err := c.rpc.Describe(ctx, &proto.DescribeRequest{}, callOptions()...)
	if err != nil {
		return yurt.RuntimeInfo{}, err
	}
	return infoFromWire(res), nil
}

func (c *clientV1) Plan(ctx context.Context, req PlanRequest) (Plan, error) {
	res, err := c.rpc.Plan(ctx, requestToWire(req), callOptions()...)
	if err != nil {
		return Plan{}, err
	}
	return planFromWire(res), nil
}

func (c *clientV1) Interpret(ctx context.Context, failure Failure) (*yurt.ExecutionError, error) {
	res, err := c.rpc.Interpret(ctx, failureToWire(failure), callOptions()...)
	if err != nil {
		return nil, err
	}
	return executionErrorFromWire(res), nil
}

func (c *clientV1) PlanDependencies(ctx context.Context, req DependencyRequest) (DependencyPlan, error) {
	res, err := c.rpc.PlanDependencies(ctx, dependencyRequestToWire(req), callOptions()...)
	if err != nil {
		return DependencyPlan{}, err
	}
	return dependencyPlanFromWire(res), nil
}

func callOptions() []grpc.CallOption {
	return []grpc.CallOption{grpc.MaxCallRecvMsgSize(maxResponseBytes), grpc.MaxCallSendMsgSize(maxRequestBytes)}
}

func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(maxRequestBytes), grpc.MaxSendMsgSize(maxResponseBytes)}
}

// errorToWire keeps the code and the field of a [yurt.Error].
func errorToWire(err error) error {
	wire := &proto.Error{Code: string(yurt.CodeOf(err)), Message: wireText(err.Error())}
	var coded *yurt.Error
	if errors.As(err, &coded) {
		wire.Message, wire.Field = wireText(coded.Message), wireText(coded.Field)
	}
	st := status.New(yurt.CodeOf(err).GRPC(), "see the details")
	if detailed, detailErr := st.WithDetails(wire); detailErr == nil {
		st = detailed
	}
	return st.Err()
}

// wireText makes text fit for a message: protobuf refuses what is not UTF-8.
func wireText(text string) string {
	return cut(strings.ToValidUTF8(text, "\ufffd"), maxErrorMessageBytes)
}

// errorFromWire returns the error that a runtime itself gave, or nil when the
// call failed for another reason, such as a lost connection.
func errorFromWire(err error) *yurt.Error {
	for _, detail := range status.Convert(err).Details() {
		wire, ok := detail.(*proto.Error)
		if !ok {
			continue
		}
		code := yurt.Code(wire.GetCode())
		if !knownCode(code) {
			code = yurt.CodeInternal
		}
		result := yurt.Errorf(code, "%s", clean(cut(wire.GetMessage(), maxErrorMessageBytes)))
		if field := wire.GetField(); len(field) <= maxNameBytes && printable(field) {
			result.Field = field
		}
		return result
	}
	return nil
}

func knownCode(code yurt.Code) bool {
	for _, known := range yurt.Codes() {
		if code == known {
			return true
		}
	}
	return false
}

// connectionLost reports whether the other side may not have answered at all.
func connectionLost(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return true
	}
	return false
}

// deadlinePassed reports whether the call ran out of time, by either side's clock.
func deadlinePassed(err error) bool { return status.Code(err) == codes.DeadlineExceeded }

// unimplemented reports whether the other side does not know the call at all.
func unimplemented(err error) bool { return status.Code(err) == codes.Unimplemented }

// refusedSize reports whether a message exceeded its limit.
func refusedSize(err error) bool { return status.Code(err) == codes.ResourceExhausted }

var errNoRuntime = fmt.Errorf("plugin serves no %q", pluginName)
