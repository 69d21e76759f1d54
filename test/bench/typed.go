package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// typedCell is a cell of TypeScript, and plainCell the same in JavaScript.
const (
	typedCell = "const one: number = 1; (one + 1) as number"
	plainCell = "const one = 1; one + 1"
)

// nodeDriver keeps state as a notebook does: esbuild takes the types out of each line, in a process of
// its own, and Node runs the rest as a script.
const nodeDriver = `
const { execFileSync } = require('child_process');
const vm = require('vm');
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const code = execFileSync('esbuild', ['--loader=ts', '--log-level=error'], { input: line, encoding: 'utf8' });
  console.log(vm.runInThisContext(code.replace(/^const /gm, 'var ')));
});
`

// typescriptStateful is a cell of TypeScript in the context of a session; beside it the same in
// JavaScript, and in a plain node with esbuild.
func typescriptStateful(p *place) ([]contender, error) {
	client, session, err := restSessionOf(p, "typescript-basic")
	if err != nil {
		return nil, err
	}
	untyped, err := restSessionAt(p, client, "javascript-basic")
	if err != nil {
		return nil, err
	}
	peer, err := nodeWithEsbuild(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: twoIn(p, client, session, "typescript", typedCell)},
		{name: "javascript", do: twoIn(p, client, untyped, "javascript", plainCell)},
		{name: "node with esbuild", do: peer},
	}, nil
}

// twoIn runs a cell whose value is 2, in a context of a session.
func twoIn(p *place, client *yurtclient.Client, session, language, code string) func() error {
	return func() error {
		done, err := client.Execute(p.ctx, session, yurtclient.ExecuteRequest{Language: language, Code: code, Context: yurtclient.InContext(yurt.DefaultContext)})
		if err == nil && string(done.Result.Result) != "2" {
			err = fmt.Errorf("it said %q: %s", done.Result.Result, done.Result.Stderr)
		}
		return err
	}
}

func nodeWithEsbuild(p *place) (func() error, error) {
	cmd := exec.CommandContext(p.ctx, "node", "-e", nodeDriver)
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, fmt.Errorf("starting node: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting node: %w", err)
	}
	p.cleanup(func() error { return errors.Join(in.Close(), cmd.Wait()) })
	lines := bufio.NewReader(out)
	return func() error {
		if _, err := io.WriteString(in, typedCell+"\n"); err != nil {
			return fmt.Errorf("asking node: %w", err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != "2\n" {
			return fmt.Errorf("node said %q: %w", line, err)
		}
		return nil
	}, nil
}
