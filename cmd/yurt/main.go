package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// version is stamped by the linker: go build -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	os.Exit(run(context.Background(), os.Args, &app{
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.LookupEnv,
	}))
}

// run carries out one command line and returns the exit code. The first interrupt
// ends ctx, so that everything is torn down; the second ends the process.
func run(ctx context.Context, args []string, a *app) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRootCommand(a)
	a.args = args[1:]
	if filepath.Base(args[0]) == sandboxRunName {
		root = newSandboxRunCommand(a)
	}
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return a.report(root.ExecuteContext(ctx))
}
