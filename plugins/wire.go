package plugins

import (
	"io/fs"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
	"github.com/yurtrun/yurt/plugins/proto"
)

func requestFromWire(req *proto.PlanRequest) PlanRequest {
	return PlanRequest{
		ExecutionID: req.GetExecutionId(),
		Kind:        yurt.ExecutionKind(req.GetKind()),
		Language:    req.GetLanguage(),
		Code:        string(req.GetCode()),
		Handler:     req.GetHandler(),
		Event:       req.GetEvent(),
		Context:     req.GetContext(),
		Dir:         req.GetDir(),
		Timeout:     yurt.Duration(time.Duration(req.GetTimeoutNs())),
		MemoryLimit: yurt.Size(req.GetMemoryLimit()),
		Files:       filesFromWire(req.GetFiles()),
		Entry:       req.GetEntry(),
		Args:        req.GetArgs(),
		Root:        req.GetRoot(),
		OutDir:      req.GetOutDir(),
		CacheDir:    req.GetCacheDir(),
		Tools:       req.GetTools(),
		Layer:       req.GetLayer(),
	}
}

func planToWire(plan Plan) *proto.PlanResponse {
	res := &proto.PlanResponse{
		Files: filesToWire(plan.Files), Argv: plan.Argv, Env: plan.Env,
		Result: string(plan.Result), Interpret: plan.Interpret,
	}
	if in := plan.Inserted; in != nil {
		res.Inserted = &proto.Insertion{File: in.File, Line: int32(in.Line), Column: int32(in.Column), Text: in.Text} //nolint:gosec // bounded by the length of code
	}
	for _, step := range plan.Compile {
		res.Compile = append(res.Compile, &proto.Step{Argv: step.Argv, Env: step.Env, TimeoutNs: int64(step.Timeout)})
	}
	return res
}

func filesToWire(files []File) []*proto.File {
	list := make([]*proto.File, len(files))
	for i, f := range files {
		list[i] = &proto.File{Path: f.Path, Data: f.Data, Mode: uint32(f.Mode)}
	}
	return list
}

func filesFromWire(files []*proto.File) []File {
	var list []File
	for _, f := range files {
		list = append(list, File{Path: f.GetPath(), Data: f.GetData(), Mode: fs.FileMode(f.GetMode())})
	}
	return list
}

func infoToWire(info yurt.RuntimeInfo) *proto.DescribeResponse {
	return &proto.DescribeResponse{
		Name:       info.Name,
		Version:    info.Version,
		Languages:  info.Languages,
		Extensions: info.Extensions,
		Abilities:  info.Abilities,
		Tools:      toolsToWire(info.Tools),
		Kernels:    info.Kernels,
		HostPaths:  info.HostPaths,
		Path:       info.Path,
	}
}

func toolsToWire(tools []yurt.Tool) []*proto.Tool {
	list := make([]*proto.Tool, len(tools))
	for i, t := range tools {
		list[i] = &proto.Tool{Name: t.Name, Paths: t.Paths, Install: t.Install, Optional: t.Optional}
	}
	return list
}

func failureFromWire(f *proto.InterpretRequest) Failure {
	return Failure{
		Language: f.GetLanguage(), Phase: Phase(f.GetPhase()), Step: int(f.GetStep()), ExitCode: int(f.GetExitCode()), Signal: int(f.GetSignal()),
		Output: f.GetOutput(), Root: f.GetRoot(), Dir: f.GetDir(), OutDir: f.GetOutDir(), Entry: f.GetEntry(),
	}
}

func executionErrorToWire(err *yurt.ExecutionError) *proto.InterpretResponse {
	if err == nil {
		return &proto.InterpretResponse{}
	}
	res := &proto.InterpretResponse{Found: true, Type: protocol.Text(err.Type), Message: protocol.Text(err.Message)}
	for _, line := range boundStack(err.Stacktrace) {
		res.Stacktrace = append(res.Stacktrace, protocol.Text(line))
	}
	return res
}

func dependencyRequestFromWire(req *proto.DependencyRequest) DependencyRequest {
	return DependencyRequest{
		Language: req.GetLanguage(), Requirements: req.GetRequirements(), Files: filesFromWire(req.GetFiles()),
		Dir: req.GetDir(), Mount: req.GetMount(), Tools: req.GetTools(),
	}
}

func dependencyPlanToWire(plan DependencyPlan) *proto.DependencyResponse {
	return &proto.DependencyResponse{
		Inputs: plan.Inputs, Files: filesToWire(plan.Files), Argv: plan.Argv, Env: plan.Env,
		LayerDir: plan.LayerDir, RunEnv: plan.RunEnv,
	}
}
