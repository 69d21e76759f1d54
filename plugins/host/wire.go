package host

import (
	"io/fs"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/proto"
)

func requestToWire(req plugins.PlanRequest) *proto.PlanRequest {
	return &proto.PlanRequest{
		ExecutionId: req.ExecutionID,
		Kind:        string(req.Kind),
		Language:    req.Language,
		Code:        []byte(req.Code),
		Handler:     req.Handler,
		Event:       req.Event,
		Context:     req.Context,
		Dir:         req.Dir,
		TimeoutNs:   int64(req.Timeout.Std()),
		MemoryLimit: int64(req.MemoryLimit),
		Files:       filesToWire(req.Files),
		Entry:       req.Entry,
		Args:        req.Args,
		Root:        req.Root,
		OutDir:      req.OutDir,
		CacheDir:    req.CacheDir,
		Tools:       req.Tools,
		Layer:       req.Layer,
	}
}

// planFromWire does not check the plan: [plugins.Plan.Validate] does.
func planFromWire(res *proto.PlanResponse) plugins.Plan {
	plan := plugins.Plan{
		Files: filesFromWire(res.GetFiles()), Argv: res.GetArgv(), Env: res.GetEnv(),
		Result: plugins.ResultFormat(res.GetResult()), Interpret: res.GetInterpret(),
	}
	if in := res.GetInserted(); in != nil {
		plan.Inserted = &plugins.Insertion{File: in.GetFile(), Line: int(in.GetLine()), Column: int(in.GetColumn()), Text: in.GetText()}
	}
	for _, step := range res.GetCompile() {
		plan.Compile = append(plan.Compile, plugins.Step{Argv: step.GetArgv(), Env: step.GetEnv(), Timeout: yurt.Duration(step.GetTimeoutNs())})
	}
	return plan
}

func filesToWire(files []plugins.File) []*proto.File {
	list := make([]*proto.File, len(files))
	for i, f := range files {
		list[i] = &proto.File{Path: f.Path, Data: f.Data, Mode: uint32(f.Mode)}
	}
	return list
}

func filesFromWire(files []*proto.File) []plugins.File {
	var list []plugins.File
	for _, f := range files {
		list = append(list, plugins.File{Path: f.GetPath(), Data: f.GetData(), Mode: fs.FileMode(f.GetMode())})
	}
	return list
}

// infoFromWire does not check the description: validateInfo does.
func infoFromWire(info *proto.DescribeResponse) yurt.RuntimeInfo {
	var tools []yurt.Tool
	for _, t := range info.GetTools() {
		tools = append(tools, yurt.Tool{Name: t.GetName(), Paths: t.GetPaths(), Install: t.GetInstall(), Optional: t.GetOptional()})
	}
	return yurt.RuntimeInfo{
		Name:       info.GetName(),
		Version:    info.GetVersion(),
		Languages:  info.GetLanguages(),
		Extensions: info.GetExtensions(),
		Abilities:  info.GetAbilities(),
		Tools:      tools,
		Kernels:    info.GetKernels(),
		HostPaths:  info.GetHostPaths(),
		Path:       info.GetPath(),
	}
}

func failureToWire(f plugins.Failure) *proto.InterpretRequest {
	return &proto.InterpretRequest{
		Language: f.Language, Phase: string(f.Phase), Step: int32(f.Step), ExitCode: int32(f.ExitCode), Signal: int32(f.Signal),
		Output: f.Output, Root: f.Root, Dir: f.Dir, OutDir: f.OutDir, Entry: f.Entry,
	}
}

// executionErrorFromWire makes the runtime's reading of hostile output fit to be shown.
func executionErrorFromWire(res *proto.InterpretResponse) *yurt.ExecutionError {
	if !res.GetFound() {
		return nil
	}
	return plugins.BoundedError(res.GetType(), res.GetMessage(), res.GetStacktrace())
}

func dependencyRequestToWire(req plugins.DependencyRequest) *proto.DependencyRequest {
	return &proto.DependencyRequest{
		Language: req.Language, Requirements: req.Requirements, Files: filesToWire(req.Files),
		Dir: req.Dir, Mount: req.Mount, Tools: req.Tools,
	}
}

// dependencyPlanFromWire does not check the plan: [plugins.DependencyPlan.Validate] does.
func dependencyPlanFromWire(res *proto.DependencyResponse) plugins.DependencyPlan {
	return plugins.DependencyPlan{
		Inputs: res.GetInputs(), Files: filesFromWire(res.GetFiles()), Argv: res.GetArgv(), Env: res.GetEnv(),
		LayerDir: res.GetLayerDir(), RunEnv: res.GetRunEnv(),
	}
}
