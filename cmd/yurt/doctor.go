package main

import (
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	"github.com/yurtrun/yurt/executor/doctor"
)

func newDoctorCommand(a *app) *cobra.Command {
	all, processes := false, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "List the isolation mechanisms that this host has and lacks",
		Long: `List the isolation mechanisms of this host, each with its state; in_force means that it protects
sandboxes here. Below the table stands the consequence of each mechanism that is missing or
degraded.

With --processes it lists the programs of Yurt's that run here instead, those in sandboxes
included, and brokers apart from their executors: the user of each, its capabilities, and
whether a list of system calls holds for it (seccomp) and it can get no new privileges. The
kernel does not tell whether landlock holds for a process.

The exit code is 5 where a mechanism is missing that every sandbox needs.`,
		GroupID: cli.GroupHost,
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if processes {
				return a.printProcesses()
			}
			return a.printFindings(doctor.Examine(cmd.Context()), all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also print the consequence that the absence of each mechanism in force would have")
	cmd.Flags().BoolVar(&processes, "processes", false, "list the running programs of Yurt's with the power that each has over this host")
	return cmd
}

func (a *app) printProcesses() error {
	list, err := doctor.Processes()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(list)
	}
	a.PrintTable(doctor.Table(list))
	return nil
}

// printFindings shows the findings, and below the table the consequence of each missing one, or of
// all.
func (a *app) printFindings(findings []doctor.Finding, all bool) error {
	missing := 0
	rows := make([][]string, len(findings))
	for i, f := range findings {
		rows[i] = []string{f.Mechanism, string(f.State), f.Detail}
		if f.State == doctor.Missing && f.Required {
			missing++
		}
	}
	if a.JSON {
		if err := a.PrintJSON(findings); err != nil {
			return err
		}
	} else {
		a.PrintTable([]string{"mechanism", "state", "detail"}, rows)
		for _, f := range findings {
			switch {
			case f.State != doctor.InForce:
				a.Printf("\n%s is %s: %s\n", f.Mechanism, f.State, f.Consequence)
			case all:
				a.Printf("\nwithout %s: %s\n", f.Mechanism, f.Consequence)
			}
		}
	}
	if missing > 0 {
		return yurt.Errorf(yurt.CodeSandboxFailed, "no sandbox can be made here: %s missing", screen.Count(missing, "required mechanism is", "required mechanisms are"))
	}
	return nil
}
