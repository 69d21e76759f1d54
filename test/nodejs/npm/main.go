// Command npm runs npm in a directory, for the makefile: that of the machine, or one that it fetches.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/yurtrun/yurt/test/nodejs"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(args) < 2 {
		return errors.New("usage: npm DIRECTORY ARGUMENT…")
	}
	return nodejs.Run(ctx, args[0], args[1:]...)
}
