package testutil

import (
	"context"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/plugins/conformance"
)

// Conformance holds a language runtime to the conformance suite, in real sandboxes with the
// toolchain of this machine. The runtime is one of those that ship, or an example; template changes
// the template of its sandboxes, if need be.
func Conformance(t *testing.T, runtime string, samples fs.FS, template ...func(*yurt.Template)) {
	t.Helper()
	NeedsSandboxes(t)
	binaries := Build(t)
	if found, err := filepath.Glob(filepath.Join(binaries.ExampleDir, "yurt-runtime-"+runtime)); err == nil && len(found) > 0 {
		binaries.PluginDir = binaries.ExampleDir
	}
	config := Config(t, binaries)
	config.Transient = true
	// The test itself offers the paths that the template binds.
	binds := Template()
	for _, change := range template {
		change(&binds)
	}
	config.HostPaths = append(yurt.OfferedHostPaths(), binds.RootFS.HostPaths...)
	e := Start(t, config)
	read, err := conformance.ReadSamples(samples)
	if err != nil {
		t.Fatal(err)
	}
	target := &conformance.Target{Language: runtime, Samples: read}
	target.Execute = inSandbox(t, e, runtime, template...)
	target.ExecuteBare = inSandbox(t, e, runtime, append(template, func(t *yurt.Template) {
		t.RootFS.HostPaths = []string{"/usr/bin/env"}
	})...)
	for _, c := range conformance.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Check(t.Context(), target); err != nil {
				t.Error(err)
			}
		})
	}
}

// inSandbox makes a sandbox and returns a function that runs executions in it.
func inSandbox(t *testing.T, e *executor.Executor, runtime string, template ...func(*yurt.Template)) func(context.Context, yurt.ExecutionSpec) (*yurt.Result, error) {
	t.Helper()
	spec := Spec()
	spec.Template.Runtimes = []string{runtime}
	for _, change := range template {
		change(&spec.Template)
	}
	spec.Resources = spec.Template.Resources
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, spec yurt.ExecutionSpec) (*yurt.Result, error) {
		if err := e.StartExecution(ctx, s.ID, spec); err != nil {
			return nil, err
		}
		return e.WaitExecution(ctx, s.ID, spec.ID)
	}
}
