package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		GroupID: cli.GroupHost,
		Args:    arguments.None,
		RunE: func(*cobra.Command, []string) error {
			if a.JSON {
				return a.PrintJSON(map[string]string{
					"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				})
			}
			a.Printf("yurt %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
