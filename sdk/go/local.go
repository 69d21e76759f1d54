package yurtclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/yurtrun/yurt"
)

// supervisor is a shell between this process and the server: it ends the server when this process ends, however that
// ends, and removes the state.
const supervisor = `
"$0" dev --listen 127.0.0.1:0 --state-dir "$1" </dev/null & server=$!
exec >/dev/null 2>&1
read -r end
kill -TERM $server
wait $server
rm -rf "$1"`

// Local starts "yurt dev", found on PATH or by YURT_BIN, and returns its client. stop ends the server and its sandboxes.
func Local(ctx context.Context, options ...Option) (client *Client, stop func() error, err error) {
	program := os.Getenv("YURT_BIN")
	if program == "" {
		program = "yurt"
	}
	state, err := os.MkdirTemp("", "yurt-local-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a directory for the server's state: %w", err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", supervisor, program, state)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal's Ctrl-C reaches it through this process alone
	in, inErr := cmd.StdinPipe()
	out, writer, outErr := os.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("starting the server: %w", err), os.RemoveAll(state))
	}
	err = cmd.Start()
	if err = errors.Join(err, writer.Close()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("starting the server: %w", err), out.Close(), os.RemoveAll(state))
	}
	var drained sync.WaitGroup
	stop = sync.OnceValue(func() error {
		err := in.Close()
		err = errors.Join(err, cmd.Wait())
		drained.Wait()
		return errors.Join(err, out.Close())
	})
	stopped := context.AfterFunc(ctx, func() { _ = in.Close() }) // which ends the server, and so its output
	url, printed := address(out)
	if !stopped() || url == "" {
		if err := stop(); err != nil {
			printed += err.Error()
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, yurt.FieldErrorf(yurt.CodeUnavailable, "local", "yurt dev did not start; put the program \"yurt\" on PATH, or its path in YURT_BIN:\n%s", printed)
	}
	drained.Go(func() { _, _ = io.Copy(io.Discard, out) }) // lest the server waits for its output to be read
	client, err = New(url, options...)
	return client, stop, err
}

// address reads the output of a server up to its address, and returns both. The address is empty if the server ends.
func address(out io.Reader) (url, printed string) {
	pattern := regexp.MustCompile(`listens on (http://\S+)`)
	var lines []string
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if found := pattern.FindStringSubmatch(scanner.Text()); found != nil {
			return found[1], ""
		}
		lines = append(lines[max(0, len(lines)-20):], scanner.Text())
	}
	return "", strings.Join(lines, "\n")
}
