// Command nomad-driver-yurt is the task driver of Nomad. Nomad's client starts it; it is not
// run by hand.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/yurtrun/yurt/driver"
)

// version is stamped by the linker: go build -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nomad-driver-yurt:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == driver.SpawnCommand {
		return driver.Spawn(os.Stdin, os.Stdout)
	}
	return driver.Serve(ctx, version)
}
