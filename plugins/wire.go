package plugins

import (
	"io/fs"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/proto"
)

func requestToWire(req PlanRequest) *proto.PlanRequest {
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

// planFromWire does not check the plan: [Plan.Validate] does.
func planFromWire(res *proto.PlanResponse) Plan {
	plan := Plan{
		Files: filesFromWire(res.GetFiles()), Argv: res.GetArgv(), Env: res.GetEnv(),
		Result: ResultFormat(res.GetResult()), Interpret: res.GetInterpret(),
	}
	if in := res.GetInserted(); in != nil {
		plan.Inserted = &Insertion{File: in.GetFile(), Line: int(in.GetLine()), Column: int(in.GetColumn()), Text: in.GetText()}
	}
	for _, step := range res.GetCompile() {
		plan.Compile = append(plan.Compile, Step{Argv: step.GetArgv(), Env: step.GetEnv(), Timeout: yurt.Duration(step.GetTimeoutNs())})
	}
	return plan
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
