package plugins

import "context"

// AbilityDependencies is the ability of a [DependencyPlanner].
const AbilityDependencies = "dependencies"

// DependencyPlanner is a [Runtime] that knows its language's package manager.
type DependencyPlanner interface {
	// PlanDependencies says how to install what is required. Like Plan, it must be
	// quick, free of side effects, and the same for the same request.
	PlanDependencies(ctx context.Context, req DependencyRequest) (DependencyPlan, error)
}

// DependencyRequest asks how to install packages.
type DependencyRequest struct {
	Language     string
	Requirements []string          // as the package manager writes them: "requests==2.32.3"
	Files        []File            // manifests and lock files; they are in Dir when the installation begins
	Dir          string            // where to install, absolute, inside a sandbox of its own
	Mount        string            // where runs find the layer, absolute
	Tools        map[string]string // as in [PlanRequest]
}

// DependencyPlan says what to do in the sandbox that installs.
type DependencyPlan struct {
	Inputs   []string // what the layer is made from: equal ones make equal layers
	Files    []File   // written to Dir first
	Argv     []string
	Env      map[string]string
	LayerDir string            // relative to Dir: what becomes the layer
	RunEnv   map[string]string // of runs that use the layer
}
