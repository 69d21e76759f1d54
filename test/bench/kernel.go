package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

//go:embed ipykernel.py
var ipykernelDriver string

// pythonStateful is 1+1 in a kernel that is there: ours through the REST API of a real
// server, ipykernel through its own client.
func pythonStateful(p *place) ([]contender, error) {
	client, session, err := restSession(p)
	if err != nil {
		return nil, err
	}
	kernel, err := ipykernel(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: onePlusOne(p, client, session)},
		{name: "ipykernel", do: func() error { return kernel("1+1", "2") }},
	}, nil
}

// chosen is a template that has ipykernel execute the code in a context.
const chosen = `template "bench-ipykernel" {
  extends      = "python-basic"
  dependencies = { python = ["ipykernel"] }
  kernels      = { python = "ipykernel" }
}`

// pythonIPykernel is 1+1 in the ipykernel of a session whose template chooses it; beside it the
// same in Yurt's own kernel, and in an ipykernel through its own client.
func pythonIPykernel(p *place) ([]contender, error) {
	client, session, err := restSession(p)
	if err != nil {
		return nil, err
	}
	choosing, err := restSessionFrom(p, client, chosen)
	if err != nil {
		return nil, err
	}
	kernel, err := ipykernel(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: onePlusOne(p, client, choosing)},
		{name: "own kernel", do: onePlusOne(p, client, session)},
		{name: "ipykernel", do: func() error { return kernel("1+1", "2") }},
	}, nil
}

// shelled is a template whose contexts are forks of IPython's shell.
const shelled = `template "bench-ipython" {
  extends      = "python-basic"
  dependencies = { python = ["ipython==9.18.1"] }
}`

// pythonIPython is 1+1 in IPython's shell; beside it the same in Yurt's own kernel, and in an
// ipykernel through its own client.
func pythonIPython(p *place) ([]contender, error) {
	client, session, err := restSession(p)
	if err != nil {
		return nil, err
	}
	shell, err := restSessionFrom(p, client, shelled)
	if err != nil {
		return nil, err
	}
	kernel, err := ipykernel(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: onePlusOne(p, client, shell)},
		{name: "own kernel", do: onePlusOne(p, client, session)},
		{name: "ipykernel", do: func() error { return kernel("1+1", "2") }},
	}, nil
}

// onePlusOne asks for 1+1 in a context of a session.
func onePlusOne(p *place, client *yurtclient.Client, session string) func() error {
	return func() error {
		done, err := client.Execute(p.ctx, session, yurtclient.ExecuteRequest{Language: "python", Code: "1+1"})
		if err == nil && string(done.Result.Result) != "2" {
			err = fmt.Errorf("it said %q: %s", done.Result.Result, done.Result.Stderr)
		}
		return err
	}
}

// ipykernel starts one, from a virtual environment that lasts for the next time and has the modules, and
// returns a function that executes code in it and compares the answer.
func ipykernel(p *place, modules ...string) (func(code, want string) error, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("looking for a place for ipykernel: %w", err)
	}
	venv := filepath.Join(cache, "yurt-test", "bench", "ipykernel")
	python := filepath.Join(venv, "bin", "python")
	modules = append([]string{"ipykernel", "jupyter_client"}, modules...)
	if exec.CommandContext(p.ctx, python, "-c", "import "+strings.Join(modules, ", ")).Run() != nil {
		if err := errors.Join(
			command("/usr/bin/python3", "-m", "venv", venv),
			command(python, append([]string{"-m", "pip", "install", "--quiet"}, modules...)...),
		); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(p.ctx, python, "-c", ipykernelDriver)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting ipykernel: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting ipykernel: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting ipykernel: %w", err)
	}
	p.cleanup(func() error { return errors.Join(in.Close(), cmd.Wait()) })
	lines := bufio.NewReader(out)
	return func(code, want string) error {
		if _, err := io.WriteString(in, code+"\n"); err != nil {
			return fmt.Errorf("asking ipykernel: %w", err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			return fmt.Errorf("ipykernel said %q: %w", line, err)
		}
		return nil
	}, nil
}
