package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	cmd := exec.CommandContext(p.ctx, interpreter, filepath.Join(p.dir, "sdk", "tests", "bench.py"), server)
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
	return []contender{{name: "yurt", do: by("sdk")}, {name: "http.client", do: by("raw")}}, nil
}
