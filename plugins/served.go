package plugins

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
	"github.com/yurtrun/yurt/plugins/proto"
)

// servedV1 serves a [Runtime] by version 1 of the protocol. The host's side is in package host.
type servedV1 struct {
	plugin.NetRPCUnsupportedPlugin
	runtime Runtime
}

// GRPCServer registers the runtime in its own process.
func (p *servedV1) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	proto.RegisterRuntimeServer(server, &serverV1{runtime: p.runtime})
	return nil
}

// GRPCClient is for hosts, which have a type of their own.
func (p *servedV1) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this is the side of a runtime")
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
		return nil, protocol.ErrorToWire(err)
	}
	return infoToWire(info), nil
}

func (s *serverV1) Plan(ctx context.Context, req *proto.PlanRequest) (res *proto.PlanResponse, err error) {
	defer recoverTo(&err)
	plan, err := s.runtime.Plan(ctx, requestFromWire(req))
	if err != nil {
		return nil, protocol.ErrorToWire(err)
	}
	if err := plan.Validate(); err != nil {
		return nil, protocol.ErrorToWire(yurt.Errorf(yurt.CodeInternal, "the runtime made a bad plan: %w", err))
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
		return nil, protocol.ErrorToWire(err)
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
		return nil, protocol.ErrorToWire(err)
	}
	if err := plan.Validate(); err != nil {
		return nil, protocol.ErrorToWire(yurt.Errorf(yurt.CodeInternal, "the runtime made a bad plan: %w", err))
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
	*err = protocol.ErrorToWire(yurt.Errorf(yurt.CodeInternal, "the runtime panicked: %v", cause))
}

// PlanKernel answers with a runtime that is a [KernelPlanner].
func (s *serverV1) PlanKernel(ctx context.Context, req *proto.KernelRequest) (res *proto.KernelResponse, err error) {
	defer recoverTo(&err)
	planner, ok := s.runtime.(KernelPlanner)
	if !ok {
		return nil, protocol.ErrorToWire(yurt.FieldErrorf(yurt.CodeNotSupported, "context", "%w", errNoKernel))
	}
	plan, err := planner.PlanKernel(ctx, KernelRequest{Language: req.GetLanguage(), Dir: req.GetDir(), Tools: req.GetTools(), Kernel: req.GetKernel(), MemoryLimit: yurt.Size(req.GetMemoryLimit())})
	if err != nil {
		return nil, protocol.ErrorToWire(err)
	}
	return &proto.KernelResponse{Files: filesToWire(plan.Files), Argv: plan.Argv, Env: plan.Env}, nil
}

// PlanZygote answers with a runtime that is a [ZygotePlanner].
func (s *serverV1) PlanZygote(ctx context.Context, req *proto.KernelRequest) (res *proto.KernelResponse, err error) {
	defer recoverTo(&err)
	planner, ok := s.runtime.(ZygotePlanner)
	if !ok {
		return nil, protocol.ErrorToWire(yurt.Errorf(yurt.CodeNotSupported, "%w", errNoZygote))
	}
	plan, err := planner.PlanZygote(ctx, KernelRequest{
		Language: req.GetLanguage(), Dir: req.GetDir(), Tools: req.GetTools(), Preload: req.GetPreload(), Kernel: req.GetKernel(),
	})
	if err != nil {
		return nil, protocol.ErrorToWire(err)
	}
	return &proto.KernelResponse{Files: filesToWire(plan.Files), Argv: plan.Argv, Env: plan.Env}, nil
}
