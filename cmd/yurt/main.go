package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/brokered"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

// version is stamped by the linker: go build -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	os.Exit(run(context.Background(), os.Args, &app{App: &cli.App{
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Getenv: os.LookupEnv,
	}}))
}

// run carries out one command line and returns the exit code. The first interrupt
// ends ctx, so that everything is torn down; the second ends the process.
func run(ctx context.Context, args []string, a *app) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	part, name, err := brokered.Join(filepath.Base(args[0]))
	if err != nil {
		fmt.Fprintln(a.Stderr, "yurt:", err)
		return yurt.ExitError
	}
	a.executor, a.AsRoot = part, part != nil
	if part == nil {
		context.AfterFunc(ctx, stop)
		return execute(ctx, name, args[1:], a)
	}
	// An interrupt reaches this process from the terminal and from the broker. The broker ends it if it takes too long.
	return brokered.ExitCode(execute(ctx, name, args[1:], a))
}

// execute carries out a command line of the program under the name.
func execute(ctx context.Context, name string, args []string, a *app) int {
	root := newRootCommand(a)
	a.Args = args
	if name == sandboxRunName {
		root = newSandboxRunCommand(a)
	}
	root.SetArgs(a.Args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	return a.Report(root.ExecuteContext(ctx))
}
