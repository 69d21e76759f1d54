package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

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
	context.AfterFunc(ctx, stop)

	root := newRootCommand(a)
	a.Args = args[1:]
	if filepath.Base(args[0]) == sandboxRunName {
		root = newSandboxRunCommand(a)
	}
	root.SetArgs(a.Args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	return a.Report(root.ExecuteContext(ctx))
}
