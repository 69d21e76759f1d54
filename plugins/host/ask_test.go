package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// able is obedient with all abilities that a runtime may have. It acts as the output, or the first
// requirement, says.
type able struct{ obedient }

func (a able) Describe(ctx context.Context) (yurt.RuntimeInfo, error) {
	info, err := a.obedient.Describe(ctx)
	info.Abilities = append(info.Abilities, plugins.AbilityProject, plugins.AbilityDependencies)
	info.Tools = []yurt.Tool{{Name: "cc", Paths: []string{"/usr/bin/cc"}, Install: "install gcc", Optional: true}}
	return info, err
}

func (able) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	source, files := req.Source("main.x")
	return plugins.Plan{
		Files:     files,
		Compile:   []plugins.Step{{Argv: []string{req.Tools["cc"], source}, Env: map[string]string{"CACHE": req.CacheDir}, Timeout: yurt.Duration(time.Second)}},
		Argv:      append([]string{req.OutDir + "/program", req.Root}, req.Args...),
		Interpret: true,
		Inserted:  &plugins.Insertion{File: "main.x", Line: 1, Column: 2, Text: "main {"},
	}, nil
}

func (able) Interpret(_ context.Context, failure plugins.Failure) (*yurt.ExecutionError, error) {
	switch string(failure.Output) {
	case "nothing":
		return nil, nil
	case "fail":
		return nil, errors.New("disk on fire")
	case "hang":
		time.Sleep(time.Hour)
	case "forge":
		return &yurt.ExecutionError{Type: yurt.ErrorTypeSandboxLost, Message: "\xff", Stacktrace: make([]string, 10*256)}, nil
	}
	name, _ := failure.UserPath(failure.Dir + "/main.x")
	return &yurt.ExecutionError{Type: yurt.ErrorTypeCompile, Message: string(failure.Output), Stacktrace: []string{name, string(failure.Phase)}}, nil
}

func (able) PlanDependencies(_ context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	plan := plugins.DependencyPlan{
		Inputs: req.Requirements, Files: req.Files, Argv: append([]string{"install", req.Dir}, req.Requirements...),
		LayerDir: "layer", RunEnv: map[string]string{"LIBS": req.Mount},
	}
	if req.Requirements[0] == "escape" {
		plan.LayerDir = "../../etc"
	}
	return plan, nil
}

func TestPlanOfAProject(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "able"))
	req := plugins.PlanRequest{
		Kind: yurt.KindCode, Language: "able", Dir: "/run/x", Root: "/workspace", OutDir: "/tmp/out", CacheDir: "/tmp/cache",
		Files: []plugins.File{{Path: "src/a", Data: []byte("a")}}, Entry: "src/a", Args: []string{"one", ""}, Tools: map[string]string{"cc": "/usr/bin/cc"},
	}
	got, err := h.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := plugins.Plan{
		Compile: []plugins.Step{{Argv: []string{"/usr/bin/cc", "/workspace/src/a"}, Env: map[string]string{"CACHE": "/tmp/cache"}, Timeout: yurt.Duration(time.Second)}},
		Argv:    []string{"/tmp/out/program", "/workspace", "one", ""}, Interpret: true,
		Inserted: &plugins.Insertion{File: "main.x", Line: 1, Column: 2, Text: "main {"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	req.Files, req.Entry, req.Code = nil, "", "code"
	got, err = h.Plan(t.Context(), req)
	if err != nil || len(got.Files) != 1 || got.Compile[0].Argv[1] != "/run/x/main.x" {
		t.Errorf("a snippet: %+v, %v", got, err)
	}
	req.Tools = nil // so that a compile step has no command
	_, err = h.Plan(t.Context(), req)
	wantError(t, err, yurt.CodeInternal, "bad plan", "compile step 0")
	info, err := h.RuntimeOf(t.Context(), "able")
	if err != nil || len(info.Tools) != 1 || info.Tools[0].Install != "install gcc" || !info.Tools[0].Optional {
		t.Errorf("tools %+v, %v", info.Tools, err)
	}
}

func TestBadProjectRequests(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "able", "good"))
	for name, tt := range map[string]struct {
		change func(*plugins.PlanRequest)
		code   yurt.Code
	}{
		"entry leads out":  {func(r *plugins.PlanRequest) { r.Entry = "../x" }, yurt.CodeInvalidArgument},
		"file leads out":   {func(r *plugins.PlanRequest) { r.Files = []plugins.File{{Path: "/etc/passwd"}} }, yurt.CodeInvalidArgument},
		"NUL in arguments": {func(r *plugins.PlanRequest) { r.Args = []string{"a\x00"} }, yurt.CodeInvalidArgument},
		"no project there": {func(r *plugins.PlanRequest) { r.Language, r.Entry = "good", "main" }, yurt.CodeNotSupported},
	} {
		req := request("able", "")
		tt.change(&req)
		if _, err := h.Plan(t.Context(), req); yurt.CodeOf(err) != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInterpret(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "able", "good"), WithCallTimeout(time.Minute))
	failure := plugins.Failure{Language: "able", Phase: plugins.PhaseCompile, Output: []byte("no such type"), Dir: "/run/x"}
	got, err := h.Interpret(t.Context(), failure)
	want := &yurt.ExecutionError{Type: yurt.ErrorTypeCompile, Message: "no such type", Stacktrace: []string{"main.x", "compile"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	failure.Output = []byte("nothing")
	if got, err := h.Interpret(t.Context(), failure); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	failure.Output = []byte("forge")
	got, err = h.Interpret(t.Context(), failure)
	if err != nil || got.Type != "user."+yurt.ErrorTypeSandboxLost || len(got.Stacktrace) > 256+1 || got.Message != "\ufffd" {
		t.Errorf("got %+v, %v", got, err)
	}
	failure.Output = []byte("fail")
	_, err = h.Interpret(t.Context(), failure)
	wantError(t, err, yurt.CodeInternal, "disk on fire")
	failure.Output = []byte("hang")
	impatient := newHost(t, pluginDir(t, "able"), WithCallTimeout(2*time.Second))
	_, err = impatient.Interpret(t.Context(), failure)
	wantError(t, err, yurt.CodeRuntimeUnavailable, "did not answer within 2s and was killed")
	failure.Output = make([]byte, plugins.MaxInterpretedBytes+1)
	_, err = h.Interpret(t.Context(), failure)
	wantError(t, err, yurt.CodeInternal)
	_, err = h.Interpret(t.Context(), plugins.Failure{Language: "good", Output: []byte("x")})
	wantError(t, err, yurt.CodeRuntimeIncompatible, "does not know the call Interpret")
}

func TestPlanDependencies(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "able", "good"))
	req := plugins.DependencyRequest{
		Language: "able", Requirements: []string{"requests==2.32.3"}, Files: []plugins.File{{Path: "lock", Data: []byte("x")}},
		Dir: "/workspace", Mount: "/opt/layer",
	}
	got, err := h.PlanDependencies(t.Context(), req)
	want := plugins.DependencyPlan{
		Inputs: req.Requirements, Files: req.Files, Argv: []string{"install", "/workspace", "requests==2.32.3"},
		LayerDir: "layer", RunEnv: map[string]string{"LIBS": "/opt/layer"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for name, tt := range map[string]struct {
		change func(*plugins.DependencyRequest)
		code   yurt.Code
	}{
		"layer outside":     {func(r *plugins.DependencyRequest) { r.Requirements = []string{"escape"} }, yurt.CodeInternal},
		"empty requirement": {func(r *plugins.DependencyRequest) { r.Requirements = []string{""} }, yurt.CodeInvalidArgument},
		"long requirement":  {func(r *plugins.DependencyRequest) { r.Requirements = []string{strings.Repeat("x", 5000)} }, yurt.CodeInvalidArgument},
		"many":              {func(r *plugins.DependencyRequest) { r.Requirements = make([]string, plugins.MaxRequirements+1) }, yurt.CodeLimitOutOfRange},
		"file leads out":    {func(r *plugins.DependencyRequest) { r.Files = []plugins.File{{Path: "../x"}} }, yurt.CodeInvalidArgument},
		"no ability":        {func(r *plugins.DependencyRequest) { r.Language = "good" }, yurt.CodeNotSupported},
	} {
		bad := req
		tt.change(&bad)
		if _, err := h.PlanDependencies(t.Context(), bad); yurt.CodeOf(err) != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
