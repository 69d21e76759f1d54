package host

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
	"github.com/yurtrun/yurt/plugins/proto"
)

// dialedV1 is the host's side of version 1 of the protocol.
type dialedV1 struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer is for runtimes, see [plugins.Serve].
func (p *dialedV1) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errNoRuntime
}

// GRPCClient returns the host's view of the runtime.
func (p *dialedV1) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &clientV1{rpc: proto.NewRuntimeClient(conn)}, nil
}

// clientV1 is the host's view of a runtime in another process.
type clientV1 struct {
	rpc proto.RuntimeClient
}

var (
	_ plugins.Runtime           = (*clientV1)(nil)
	_ plugins.Interpreter       = (*clientV1)(nil)
	_ plugins.DependencyPlanner = (*clientV1)(nil)
)

func (c *clientV1) Describe(ctx context.Context) (yurt.RuntimeInfo, error) {
	res, err := c.rpc.Describe(ctx, &proto.DescribeRequest{}, callOptions()...)
	if err != nil {
		return yurt.RuntimeInfo{}, err
	}
	return infoFromWire(res), nil
}

func (c *clientV1) Plan(ctx context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	res, err := c.rpc.Plan(ctx, requestToWire(req), callOptions()...)
	if err != nil {
		return plugins.Plan{}, err
	}
	return planFromWire(res), nil
}

func (c *clientV1) Interpret(ctx context.Context, failure plugins.Failure) (*yurt.ExecutionError, error) {
	res, err := c.rpc.Interpret(ctx, failureToWire(failure), callOptions()...)
	if err != nil {
		return nil, err
	}
	return executionErrorFromWire(res), nil
}

func (c *clientV1) PlanDependencies(ctx context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	res, err := c.rpc.PlanDependencies(ctx, dependencyRequestToWire(req), callOptions()...)
	if err != nil {
		return plugins.DependencyPlan{}, err
	}
	return dependencyPlanFromWire(res), nil
}

// PlanKernel asks a runtime in another process.
func (c *clientV1) PlanKernel(ctx context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	res, err := c.rpc.PlanKernel(ctx, &proto.KernelRequest{Language: req.Language, Dir: req.Dir, Tools: req.Tools, Kernel: req.Kernel, MemoryLimit: int64(req.MemoryLimit)}, callOptions()...)
	if err != nil {
		return plugins.KernelPlan{}, err
	}
	return plugins.KernelPlan{Files: filesFromWire(res.GetFiles()), Argv: res.GetArgv(), Env: res.GetEnv()}, nil
}

// PlanZygote asks a runtime in another process.
func (c *clientV1) PlanZygote(ctx context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	res, err := c.rpc.PlanZygote(ctx, &proto.KernelRequest{Language: req.Language, Dir: req.Dir, Tools: req.Tools, Preload: req.Preload, Kernel: req.Kernel}, callOptions()...)
	if err != nil {
		return plugins.KernelPlan{}, err
	}
	return plugins.KernelPlan{Files: filesFromWire(res.GetFiles()), Argv: res.GetArgv(), Env: res.GetEnv()}, nil
}

func callOptions() []grpc.CallOption {
	return []grpc.CallOption{grpc.MaxCallRecvMsgSize(protocol.MaxResponseBytes), grpc.MaxCallSendMsgSize(protocol.MaxRequestBytes)}
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

var errNoRuntime = fmt.Errorf("plugin serves no %q", protocol.Service)
