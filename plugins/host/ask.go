package host

import (
	"context"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/internal/text"
)

// Plan asks the runtime of req.Language how to run req. Errors: no runtime has the language or the kind of execution
// ([yurt.CodeLanguageNotSupported], [yurt.CodeNotSupported]); the runtime crashed, hung or is started too often
// ([yurt.CodeRuntimeUnavailable]); it speaks another protocol or gave a plan that is not allowed
// ([yurt.CodeRuntimeIncompatible]); or the runtime itself refused the request. The plan has been validated.
func (h *Host) Plan(ctx context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if err := req.Validate(); err != nil {
		return plugins.Plan{}, err
	}
	needs := []string{string(req.Kind)}
	if req.Entry != "" {
		needs = append(needs, plugins.AbilityProject)
	}
	r, err := h.able(ctx, req.Language, needs...)
	if err != nil {
		return plugins.Plan{}, err
	}
	req.Language = strings.ToValidUTF8(req.Language, "\ufffd")
	return r.plan(ctx, req)
}

// plan answers with the plan of an earlier request that differs only in the execution's id and directories, or puts the request
// to the runtime.
func (r *installed) plan(ctx context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	inst, err := r.instance(ctx)
	if err != nil {
		return plugins.Plan{}, err
	}
	inst.calls.Done() // a cache needs no process, and call takes one of its own
	plans := inst.plans
	neutral := plans.neutral(req)
	key, err := plans.key(neutral)
	if err != nil {
		return plugins.Plan{}, yurt.Errorf(yurt.CodeInternal, "naming a request to runtime %s: %w", r.name, err)
	}
	plan, ok := plans.get(key)
	if !ok {
		plan, err = call(ctx, r, question[plugins.Plan]{
			"Plan", func(ctx context.Context, rt *clientV1) (plugins.Plan, error) { return rt.Plan(ctx, neutral) }, plugins.Plan.Validate,
		})
		if err != nil {
			return plugins.Plan{}, err
		}
		plans.put(key, plan)
	}
	return plans.fill(plan, req), nil
}

// Interpret asks the runtime of the language for the meaning of a failure; nil means that it does not know either. Errors are as
// those of [Host.Plan].
func (h *Host) Interpret(ctx context.Context, failure plugins.Failure) (*yurt.ExecutionError, error) {
	if len(failure.Output) > plugins.MaxInterpretedBytes {
		return nil, yurt.Errorf(yurt.CodeInternal, "interpreting %d bytes of output; at most %d are allowed", len(failure.Output), plugins.MaxInterpretedBytes)
	}
	r, err := h.find(ctx, failure.Language)
	if err != nil {
		return nil, err
	}
	return call(ctx, r, question[*yurt.ExecutionError]{
		"Interpret",
		func(ctx context.Context, rt *clientV1) (*yurt.ExecutionError, error) {
			return rt.Interpret(ctx, failure)
		},
		func(*yurt.ExecutionError) error { return nil }, // reading it from the wire made it fit
	})
}

// PlanDependencies asks the runtime of the language how to install packages. Errors
// are as those of [Host.Plan]. The plan has been validated.
func (h *Host) PlanDependencies(ctx context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	if err := req.Validate(); err != nil {
		return plugins.DependencyPlan{}, err
	}
	r, err := h.able(ctx, req.Language, plugins.AbilityDependencies)
	if err != nil {
		return plugins.DependencyPlan{}, err
	}
	return call(ctx, r, question[plugins.DependencyPlan]{
		"PlanDependencies",
		func(ctx context.Context, rt *clientV1) (plugins.DependencyPlan, error) {
			return rt.PlanDependencies(ctx, req)
		},
		plugins.DependencyPlan.Validate,
	})
}

// PlanKernel asks the runtime of req.Language how to start a kernel. Its errors are
// those of [Host.Plan]; a runtime without kernels is [yurt.CodeNotSupported]. The plan
// has been validated.
func (h *Host) PlanKernel(ctx context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	r, err := h.able(ctx, req.Language, plugins.AbilityKernel)
	if err != nil {
		return plugins.KernelPlan{}, err
	}
	if req.Kernel != "" { // a runtime that knows of no kernels would start its own
		info, err := r.describe(ctx)
		if err != nil {
			return plugins.KernelPlan{}, err
		}
		if err := info.ValidateKernel("context", req.Kernel); err != nil {
			return plugins.KernelPlan{}, err
		}
	}
	return call(ctx, r, question[plugins.KernelPlan]{
		"PlanKernel",
		func(ctx context.Context, rt *clientV1) (plugins.KernelPlan, error) { return rt.PlanKernel(ctx, req) },
		plugins.KernelPlan.Validate,
	})
}

// PlanZygote asks the runtime of req.Language how to start a zygote. Its errors are those of
// [Host.Plan]; a runtime without is [yurt.CodeNotSupported]. The plan has been validated.
func (h *Host) PlanZygote(ctx context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	r, err := h.able(ctx, req.Language, plugins.AbilityZygote)
	if err != nil {
		return plugins.KernelPlan{}, err
	}
	return call(ctx, r, question[plugins.KernelPlan]{
		"PlanZygote",
		func(ctx context.Context, rt *clientV1) (plugins.KernelPlan, error) { return rt.PlanZygote(ctx, req) },
		plugins.KernelPlan.Validate,
	})
}

// able returns the runtime of a language, which must have the abilities.
func (h *Host) able(ctx context.Context, language string, abilities ...string) (*installed, error) {
	r, err := h.find(ctx, language)
	if err != nil {
		return nil, err
	}
	info, err := r.describe(ctx)
	if err != nil {
		return nil, err
	}
	for _, ability := range abilities {
		if !slices.Contains(info.Abilities, ability) {
			return nil, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "runtime %s cannot run %s; it runs %s", info.Name, text.Quote(ability), strings.Join(info.Abilities, ", "))
		}
	}
	return r, nil
}
