package plugins

import "context"

// AbilityDependencies is the ability of a [DependencyPlanner].
const AbilityDependencies = "dependencies"

// DependencyPlanner is a [Runtime] that knows its language's package manager.
type DependencyPlanner interface {
	// PlanDependencies says how to install the required packages. Like Plan, it must be quick, free of side effects, and the
	// same for the same request.
	PlanDependencies(ctx context.Context, req DependencyRequest) (DependencyPlan, error)
}

// DependencyRequest asks how to install packages.
type DependencyRequest struct {
	Language     string
	Requirements []string          // as the package manager writes them: "requests==2.32.3"
	Files        []File            // of the project; those that the installation needs, the plan names
	Dir          string            // where to install, absolute, inside a sandbox of its own
	Mount        string            // where runs find the layer, absolute
	Tools        map[string]string // as in [PlanRequest]
}

// DependencyPlan lists the steps of an installation. The zero value says that no packages are needed: the project has no
// manifest, or one without packages.
//
// All of it makes the digest of the layer, so equal requests must have equal plans, and one that has lists in another order may
// have the same. Mount stands in Argv, Env and RunEnv as it is, neither encoded nor cut: another path takes its place.
type DependencyPlan struct {
	Inputs   []string // the source of the layer, beside the fields below
	Files    []File   // written to Dir first; all that there is of the project
	Argv     []string
	Env      map[string]string
	LayerDir string            // relative to Dir: the directory that becomes the layer
	RunEnv   map[string]string // of runs that use the layer
}

// Empty reports whether there are no packages to install.
func (p DependencyPlan) Empty() bool { return len(p.Argv) == 0 && len(p.Inputs) == 0 }
