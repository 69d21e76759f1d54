package main

import (
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/doctor"
)

func newDoctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can and cannot isolate, and why",
		Long: `Say what this host can and cannot isolate, and why. in_force means that it protects
sandboxes here.

Exit code 1 means that something is missing without which no sandbox can be made.`,
		GroupID: groupHost,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.printFindings(doctor.Examine(cmd.Context()))
		},
	}
}

// printFindings shows the findings, worst consequences spelled out below the table.
func (a *app) printFindings(findings []doctor.Finding) error {
	missing := 0
	rows := make([][]string, len(findings))
	for i, f := range findings {
		rows[i] = []string{f.Mechanism, string(f.State), f.Detail}
		if f.State == doctor.Missing && f.Required {
			missing++
		}
	}
	if a.json {
		if err := a.printJSON(findings); err != nil {
			return err
		}
	} else {
		a.printTable([]string{"mechanism", "state", "detail"}, rows)
		for _, f := range findings {
			if f.State != doctor.InForce && f.Consequence != "" {
				a.printf("\n%s is %s: %s\n", f.Mechanism, f.State, f.Consequence)
			}
		}
	}
	if missing > 0 {
		return yurt.Errorf(yurt.CodeSandboxFailed, "no sandbox can be made here: %s missing", counting(missing, "required mechanism is", "required mechanisms are"))
	}
	return nil
}
