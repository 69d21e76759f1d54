package packages

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/golang"
	"github.com/yurtrun/yurt/plugins/java"
	"github.com/yurtrun/yurt/plugins/javascript"
	"github.com/yurtrun/yurt/plugins/python"
	"github.com/yurtrun/yurt/plugins/rust"
)

// planners are the runtimes that install packages, by the name of the manifest they read.
func planners() map[string]plugins.DependencyPlanner {
	return map[string]plugins.DependencyPlanner{
		"requirements.txt": python.Runtime{}, "package.json": javascript.Runtime{}, "go.mod": golang.Runtime{},
		"Cargo.toml": rust.Runtime{}, "pom.xml": java.Runtime{},
	}
}

// FuzzPlans has every runtime plan for any manifest and any package: the outcome is a plan that is
// allowed, always the same, or an error about the request.
func FuzzPlans(f *testing.F) {
	for _, seed := range []struct{ manifest, required string }{
		{"numpy==2\n-r requirements.txt\n-e .\n", "a"},
		{`{"dependencies":{"a":"1"},"scripts":{"preinstall":"x"}}`, "@a/b@1.0.0"},
		{"module a\nrequire b v1.0.0\n", "example.com/a@latest"},
		{"[package]\n[dependencies]\na = \"1\"\n[target.'cfg(unix)'.dependencies.b]\nversion = \"1\"\n", `a = { version = "1" }`},
		{"<project><dependencies><dependency></dependency></dependencies></project>", "a:b:1"},
		{"", "a\"\nb"},
	} {
		f.Add([]byte(seed.manifest), seed.required)
		f.Add([]byte(seed.manifest), "")
	}
	tools := map[string]string{
		"python3": "/usr/bin/python3", "pip": "/usr/bin/pip3", "node": "/usr/bin/node", "npm": "/usr/bin/npm", "go": "/usr/bin/go",
		"cargo": "/usr/bin/cargo", "rustc": "/usr/bin/rustc", "java": "/usr/bin/java", "mvn": "/usr/share/maven/bin/mvn",
	}
	f.Fuzz(func(t *testing.T, manifest []byte, required string) {
		for name, planner := range planners() {
			req := plugins.DependencyRequest{
				Files: []plugins.File{{Path: name, Data: manifest}}, Dir: "/workspace/install", Mount: "/run/yurt/layers/x", Tools: tools,
			}
			if required != "" && yurt.ValidateDependencies("dependencies", []string{required}) == nil {
				req.Requirements = []string{required}
			}
			plan, err := planner.PlanDependencies(t.Context(), req)
			if err != nil {
				if yurt.CodeOf(err) != yurt.CodeInvalidArgument {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err := plan.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if len(req.Requirements) > 0 && plan.Empty() {
				t.Errorf("%s: nothing is planned for %q", name, required)
			}
		}
	})
}
