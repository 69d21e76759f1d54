package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
)

const (
	gigabyte  = 1_000_000_000
	pipeBytes = 1 << 20 // the size of a pipe's buffer
)

// zeros writes a gigabyte, in pieces that a pipe holds.
func zeros() []string {
	return []string{"/bin/dd", "if=/dev/zero", "bs=1000000", "count=1000", "status=none"}
}

// stdoutThroughput is a gigabyte through the stdout of a run whose caller has handed in
// a pipe of its own.
func stdoutThroughput(p *place) ([]contender, error) {
	e, err := p.node()
	if err != nil {
		return nil, err
	}
	s, err := e.CreateSandbox(p.ctx, sandboxSpec())
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: func() error {
			return drain(func(stdout *os.File) (func() error, error) {
				spec := yurt.ExecutionSpec{
					ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: zeros(),
					Timeout: yurt.Duration(time.Minute), OutputLimit: yurt.DefaultOutputLimit,
				}
				err := e.StartAttached(p.ctx, s.ID, spec, executor.Stdio{Stdout: stdout})
				return func() error {
					_, err := e.WaitExecution(p.ctx, s.ID, spec.ID)
					return errors.Join(err, e.ForgetExecution(p.ctx, s.ID, spec.ID))
				}, err
			})
		}},
		{name: "fork+exec", do: func() error {
			return drain(func(stdout *os.File) (func() error, error) {
				argv := zeros()
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Stdout = stdout
				return cmd.Wait, cmd.Start()
			})
		}},
	}, nil
}

// drain starts something with a pipe for its stdout, and reads that to its end.
func drain(start func(stdout *os.File) (wait func() error, err error)) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, pipeBytes); err != nil {
		return errors.Join(fmt.Errorf("widening a pipe: %w", err), w.Close())
	}
	wait, err := start(w)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	n, err := count(r)
	if err == nil && n != gigabyte {
		err = fmt.Errorf("%d bytes came", n)
	}
	return errors.Join(err, wait())
}

func count(r io.Reader) (total int64, err error) {
	for buf := make([]byte, pipeBytes); ; {
		n, err := r.Read(buf)
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
