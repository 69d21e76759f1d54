package runtimecmd

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/plugins/golang"
)

func newPrepareCommand(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "prepare go",
		Short: "Compile Go's standard library once for all sandboxes of this host",
		Long: `Compile Go's standard library once for all sandboxes of this host.

The first Go program in a sandbox takes many seconds, since the standard library is compiled
with it. This command makes a build cache that sandboxes read. Templates that bind /usr find it
at the default place. For another place, bind the directory in the template and set
` + golang.CacheEnv + ` in its env.

Run it again after Go was updated.`,
		Example: "  sudo yurt runtime prepare go",
		Args:    arguments.Between(1, 1, "one LANGUAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "go" {
				return yurt.FieldErrorf(yurt.CodeInvalidArgument, "runtime", "%q has nothing to prepare; give go", args[0])
			}
			command, err := exec.LookPath("go")
			if err != nil {
				command = "/usr/local/go/bin/go"
			}
			if err := golang.MakeCache(cmd.Context(), command, dir, a.Stderr, "std"); err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, "sandboxes find Go's standard library compiled in %s\n", dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", golang.SharedCache, "the directory of the cache")
	return cmd
}
