package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/yurtrun/yurt/test/nodejs"
)

// sdkPython is a cell of Python by the Python SDK, installed into an environment of its own; beside
// it the same by one request of Python's http.client, on a connection that is kept.
func sdkPython(p *place) ([]contender, error) {
	_, server, err := restServerAt(p)
	if err != nil {
		return nil, err
	}
	env := filepath.Join(p.dir, "python")
	interpreter := filepath.Join(env, "bin", "python3")
	if err := errors.Join(
		command("python3", "-m", "venv", env),
		command("cp", "-r", filepath.Join(p.bin, "..", "sdk", "python"), filepath.Join(p.dir, "sdk")), // building leaves products beside the source
		command(interpreter, "-m", "pip", "install", "--quiet", filepath.Join(p.dir, "sdk")),
	); err != nil {
		return nil, fmt.Errorf("installing the SDK: %w", err)
	}
	return sdkPair(p, "http.client", interpreter, filepath.Join(p.dir, "sdk", "tests", "bench.py"), server)
}

// sdkTypescript is the same by the TypeScript SDK, packed and installed into a project of its own; beside it one request of
// Node's fetch.
func sdkTypescript(p *place) ([]contender, error) {
	_, server, err := restServerAt(p)
	if err != nil {
		return nil, err
	}
	node, err := nodejs.Node(p.ctx)
	if err != nil {
		return nil, err
	}
	source, project := filepath.Join(p.dir, "typescript"), filepath.Join(p.dir, "project")
	if err := errors.Join(
		os.Mkdir(project, 0o700),
		command("cp", "-r", filepath.Join(p.bin, "..", "sdk", "typescript"), source),
	); err != nil {
		return nil, fmt.Errorf("copying the SDK: %w", err)
	}
	if err := nodejs.Run(p.ctx, source, "ci"); err != nil {
		return nil, fmt.Errorf("installing the tools of the SDK: %w", err)
	}
	if err := nodejs.Run(p.ctx, source, "pack", "--pack-destination", project); err != nil {
		return nil, fmt.Errorf("packing the SDK: %w", err)
	}
	if err := errors.Join(
		nodejs.Run(p.ctx, project, "install", "--prefix", project, filepath.Join(project, "yurt-sandbox-0.1.0.tgz")),
		command("cp", filepath.Join(source, "tests", "bench.mjs"), project),
	); err != nil {
		return nil, fmt.Errorf("installing the SDK: %w", err)
	}
	return sdkPair(p, "fetch", node, filepath.Join(project, "bench.mjs"), server)
}

// sdkPair starts a program that runs a cell for each line that it reads, and returns its two ways to do so.
func sdkPair(p *place, raw string, program ...string) ([]contender, error) {
	cmd := exec.CommandContext(p.ctx, program[0], program[1:]...)
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		return nil, fmt.Errorf("starting the SDK: %w", err)
	}
	p.cleanup(func() error { return errors.Join(in.Close(), cmd.Wait()) })
	lines := bufio.NewReader(out)
	by := func(how string) func() error {
		return func() error {
			if _, err := io.WriteString(in, how+"\n"); err != nil {
				return fmt.Errorf("asking the SDK: %w", err)
			}
			if line, err := lines.ReadString('\n'); err != nil || line != "42\n" {
				return fmt.Errorf("by %s the cell said %q: %w", how, line, err)
			}
			return nil
		}
	}
	return []contender{{name: "yurt", do: by("sdk")}, {name: raw, do: by("raw")}}, nil
}
