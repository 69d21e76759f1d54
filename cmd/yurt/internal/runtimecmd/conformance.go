package runtimecmd

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/conformance"
)

func newTestCommand(a *app) *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test PATH",
		Short: "Run the conformance suite on a language runtime, in sandboxes on this machine",
		Long: `Run the conformance suite on the language runtime at PATH, whose name begins with
"yurt-runtime-". The samples are small programs, one for each ability that a
language must have; docs/RUNTIMES.md lists them. The exit code is 1 if a case fails.`,
		Example: `  yurt runtime test ./yurt-runtime-lua --samples testdata/samples
  yurt runtime test ./yurt-runtime-lua --template lua.hcl --json`,
		Args: arguments.Between(1, 1, "the PATH of a runtime"),
		RunE: func(cmd *cobra.Command, args []string) error {
			real, name, err := findRuntime(args[0])
			if err != nil {
				return err
			}
			return a.host.Do(cmd.Context(), real, func(ctx context.Context) error { return a.testRuntime(ctx, name, f) })
		},
	}
	cmd.Flags().StringVar(&f.run, "run", "", "run only the cases whose name matches this regular expression")
	cmd.Flags().StringVar(&f.samples, "samples", "testdata/samples", "directory of the samples")
	cmd.Flags().StringVarP(&f.template, "template", "t", "", "a built-in template, or an .hcl file that defines one (default: the programs of the host)")
	return cmd
}

type testFlags struct{ samples, template, run string }

// verdict is the outcome of one case.
type verdict struct {
	Case    string `json:"case"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
}

func (a *app) testRuntime(ctx context.Context, name string, f testFlags) error {
	chosen, err := regexp.Compile(f.run)
	if err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--run", "it is no regular expression: %w", err)
	}
	samples, err := conformance.ReadSamples(os.DirFS(f.samples))
	if err != nil {
		return err
	}
	node, err := a.host.Start(ctx)
	if err != nil {
		return cli.InitFailure(err)
	}
	defer node.Remove(ctx)
	template := hcl.WithDefaults(yurt.Template{Name: name})
	if f.template != "" {
		if template, err = cli.FindTemplate(f.template, name, &hcl.Parser{}); err != nil {
			return err
		}
	}
	template.Runtimes = []string{name}
	target := &conformance.Target{Language: name, Samples: samples}
	if target.Execute, err = runsIn(ctx, node, template); err != nil {
		return cli.InitFailure(err)
	}
	template.RootFS = yurt.RootFS{HostPaths: []string{"/usr/bin/env"}}
	if target.ExecuteBare, err = runsIn(ctx, node, template); err != nil {
		return cli.InitFailure(err)
	}
	cases := slices.DeleteFunc(conformance.Cases(), func(c conformance.Case) bool { return !chosen.MatchString(c.Name) })
	return a.printVerdicts(ctx, target, cases)
}

// findRuntime returns the absolute path of the runtime at path, and its name.
func findRuntime(path string) (real, name string, err error) {
	name, ok := strings.CutPrefix(filepath.Base(path), plugins.BinaryPrefix)
	if !ok || name == "" {
		return "", "", yurt.Errorf(yurt.CodeInvalidArgument, "%s is not named as language runtimes are: %s and the language", path, plugins.BinaryPrefix)
	}
	if real, err = filepath.Abs(path); err != nil {
		return "", "", cli.Unreadable(path, err)
	}
	if _, err := os.Stat(real); err != nil {
		return "", "", cli.Unreadable(path, err)
	}
	return real, name, nil
}

// runsIn makes a sandbox of the template and returns a function that runs executions in it.
func runsIn(ctx context.Context, n Node, template yurt.Template) (func(context.Context, yurt.ExecutionSpec) (*yurt.Result, error), error) {
	sandbox, err := n.CreateSandbox(ctx, yurt.SandboxSpec{
		ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources.Or(yurt.DefaultResources()),
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, spec yurt.ExecutionSpec) (*yurt.Result, error) {
		if err := n.StartExecution(ctx, sandbox.ID, spec); err != nil {
			return nil, err
		}
		return n.WaitExecution(ctx, sandbox.ID, spec.ID)
	}, nil
}

// printVerdicts carries out every case and prints each verdict as it comes, or all of
// them in the end as JSON.
func (a *app) printVerdicts(ctx context.Context, target *conformance.Target, cases []conformance.Case) error {
	verdicts := []verdict{}
	wrong := 0
	for _, c := range cases {
		v := verdict{Case: c.Name, OK: true}
		if err := c.Check(ctx, target); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			v.OK, v.Problem = false, err.Error()
			wrong++
		}
		verdicts = append(verdicts, v)
		switch {
		case a.JSON:
		case v.OK:
			a.Printf("ok    %s\n", v.Case)
		default:
			a.Printf("WRONG %s: %s\n", v.Case, v.Problem)
		}
	}
	if a.JSON {
		if err := a.PrintJSON(verdicts); err != nil {
			return err
		}
	} else {
		a.Printf("%d of %d are right\n", len(verdicts)-wrong, len(verdicts))
	}
	if wrong > 0 {
		return cli.ExitError(yurt.ExitError)
	}
	return nil
}
