package plugins

import (
	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/proto"
)

func failureToWire(f Failure) *proto.InterpretRequest {
	return &proto.InterpretRequest{
		Language: f.Language, Phase: string(f.Phase), Step: int32(f.Step), ExitCode: int32(f.ExitCode), Signal: int32(f.Signal),
		Output: f.Output, Root: f.Root, Dir: f.Dir, OutDir: f.OutDir, Entry: f.Entry,
	}
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
	res := &proto.InterpretResponse{Found: true, Type: wireText(err.Type), Message: wireText(err.Message)}
	for _, line := range boundStack(err.Stacktrace) {
		res.Stacktrace = append(res.Stacktrace, wireText(line))
	}
	return res
}

// executionErrorFromWire makes what a runtime said of hostile output fit to be shown,
// as [DecodeEnvelope] does.
func executionErrorFromWire(res *proto.InterpretResponse) *yurt.ExecutionError {
	kind := errorType(res.GetType())
	if !res.GetFound() || kind == "" {
		return nil
	}
	return &yurt.ExecutionError{Type: kind, Message: cut(res.GetMessage(), maxErrorMessageBytes), Stacktrace: boundStack(res.GetStacktrace())}
}

func dependencyRequestToWire(req DependencyRequest) *proto.DependencyRequest {
	return &proto.DependencyRequest{
		Language: req.Language, Requirements: req.Requirements, Files: filesToWire(req.Files),
		Dir: req.Dir, Mount: req.Mount, Tools: req.Tools,
	}
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

// dependencyPlanFromWire does not check the plan: [DependencyPlan.Validate] does.
func dependencyPlanFromWire(res *proto.DependencyResponse) DependencyPlan {
	return DependencyPlan{
		Inputs: res.GetInputs(), Files: filesFromWire(res.GetFiles()), Argv: res.GetArgv(), Env: res.GetEnv(),
		LayerDir: res.GetLayerDir(), RunEnv: res.GetRunEnv(),
	}
}
