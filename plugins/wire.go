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
	}
}

func planToWire(plan Plan) *proto.PlanResponse {
	files := make([]*proto.File, len(plan.Files))
	for i, f := range plan.Files {
		files[i] = &proto.File{Path: f.Path, Data: f.Data, Mode: uint32(f.Mode)}
	}
	return &proto.PlanResponse{Files: files, Argv: plan.Argv, Env: plan.Env, Result: string(plan.Result)}
}

// planFromWire does not check the plan: [Plan.Validate] does.
func planFromWire(plan *proto.PlanResponse) Plan {
	files := make([]File, len(plan.GetFiles()))
	for i, f := range plan.GetFiles() {
		files[i] = File{Path: f.GetPath(), Data: f.GetData(), Mode: fs.FileMode(f.GetMode())}
	}
	return Plan{Files: files, Argv: plan.GetArgv(), Env: plan.GetEnv(), Result: ResultFormat(plan.GetResult())}
}

func infoToWire(info yurt.RuntimeInfo) *proto.DescribeResponse {
	return &proto.DescribeResponse{
		Name:       info.Name,
		Version:    info.Version,
		Languages:  info.Languages,
		Extensions: info.Extensions,
		Abilities:  info.Abilities,
	}
}

// infoFromWire does not check the description: validateInfo does.
func infoFromWire(info *proto.DescribeResponse) yurt.RuntimeInfo {
	return yurt.RuntimeInfo{
		Name:       info.GetName(),
		Version:    info.GetVersion(),
		Languages:  info.GetLanguages(),
		Extensions: info.GetExtensions(),
		Abilities:  info.GetAbilities(),
	}
}
