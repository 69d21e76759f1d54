package packages

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/plugins"
)

const (
	// LayersDir holds a directory for each layer that a sandbox has, of its digest.
	LayersDir = rootfs.RunDir + "/layers"
	// Place stands in a plan for the directory of the layer: that is named after the
	// digest of the plan.
	Place = LayersDir + "/0000000000000000"
)

// Layer is a layer that an execution needs, and how it is made.
type Layer struct {
	plugins.DependencyPlan

	Runtime string
	Digest  string
}

// NewLayer returns the layer of a plan, which has [Place] where the layer's directory is to be.
func NewLayer(runtime, digest string, plan plugins.DependencyPlan) *Layer {
	l := &Layer{DependencyPlan: plan, Runtime: runtime, Digest: digest}
	l.settle()
	return l
}

// Mount is where sandboxes have the layer.
func (l *Layer) Mount() string { return path.Join(LayersDir, l.Digest) }

// Layers are the layers that an execution needs.
type Layers []*Layer

// Mount is where the sandbox has the packages of code; "" for code without packages.
func (n Layers) Mount() string {
	if len(n) == 0 {
		return ""
	}
	return n[0].Mount()
}

// AddTo returns the execution with the environment that finds the layers.
func (n Layers) AddTo(spec yurt.ExecutionSpec) yurt.ExecutionSpec {
	for _, l := range n {
		spec = l.addTo(spec)
	}
	return spec
}

// settle puts the directory of the layer where the plan has its stand-in.
func (l *Layer) settle() {
	at := strings.NewReplacer(Place, l.Mount())
	l.Argv = slices.Clone(l.Argv)
	for i, arg := range l.Argv {
		l.Argv[i] = at.Replace(arg)
	}
	for _, env := range []map[string]string{l.Env, l.RunEnv} {
		for name, value := range env {
			env[name] = at.Replace(value)
		}
	}
}

// addTo returns the execution with the environment that finds the layer. The owner's values win, except that lists of
// directories become longer.
func (l *Layer) addTo(spec yurt.ExecutionSpec) yurt.ExecutionSpec {
	env := maps.Clone(l.RunEnv)
	if env == nil {
		env = make(map[string]string)
	}
	for name, value := range spec.Env {
		if had := env[name]; had != "" && value != "" && strings.HasSuffix(name, "PATH") {
			value += ":" + had
		}
		env[name] = value
	}
	spec.Env = env
	return spec
}
