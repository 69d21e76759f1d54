// Command yurt-init is the first process of every sandbox. The executor starts
// it; it is not run by hand. Its binary also carries out the compile steps of
// executions, and is the pip and the npm of sessions, as the sandbox's user, since it is
// in every sandbox anyway.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/yurtrun/yurt/executor/initd/pid1"
	"github.com/yurtrun/yurt/executor/initd/steps"
	"github.com/yurtrun/yurt/executor/pkgcommand"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == steps.Command {
		os.Exit(steps.Run(os.Args[2]))
	}
	if pkgcommand.Is(os.Args[0]) {
		os.Exit(pkgcommand.Run(os.Args))
	}
	if err := pid1.Run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "yurt-init:", err)
		os.Exit(1)
	}
}
