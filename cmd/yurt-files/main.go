// Command yurt-files reads and writes the files of sandboxes for the executor. The broker starts it, with power over no other file and no
// process; it is not run by hand.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/files"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "yurt-files:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := confine.AllowFileCalls(); err != nil {
		return err
	}
	return files.Run(ctx)
}
