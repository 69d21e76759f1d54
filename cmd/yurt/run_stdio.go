package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/executor"
)

// joint joins a program in a sandbox with our standard input and output, of which it is handed
// pipes alone. An anonymous pipe is handed over itself, opened once more, so that the program's
// changes to its own descriptor leave ours alone. Other files allow more than to read or to write,
// so they are copied from or to a pipe: a program could type at a terminal, cut, overwrite and name
// a file, ask a socket for its peer.
//
// Standard error is the node's: the language's runtime reads error messages there.
type joint struct {
	executor.Stdio

	in   *cli.Feed
	out  *os.File // the program's output, which we copy; nil if it writes to a pipe of ours
	to   io.Writer
	work sync.WaitGroup
	err  error // of copying the output
}

// join makes the streams for the program of spec. The caller calls begin once the program has them,
// and leave in any case. A handler reads no input, and its output is not mixed with its result; the
// same holds for output as JSON.
func (a *app) join(spec yurt.ExecutionSpec) (*joint, error) {
	j := &joint{to: a.Stdout}
	if spec.Kind == yurt.KindHandler {
		return j, nil
	}
	if stdin, ok := a.Stdin.(*os.File); ok {
		if err := j.joinInput(stdin); err != nil {
			return nil, err
		}
	}
	if a.JSON {
		return j, nil
	}
	if stdout, ok := a.Stdout.(*os.File); ok {
		j.Stdout = openAgain(stdout, unix.O_WRONLY)
	}
	if j.Stdout == nil {
		var err error
		if j.out, j.Stdout, err = cli.NewPipe(cli.MayWrite); err != nil {
			return nil, errors.Join(err, j.leave())
		}
	}
	return j, nil
}

func (j *joint) joinInput(stdin *os.File) error {
	if j.Stdin = openAgain(stdin, unix.O_RDONLY); j.Stdin != nil {
		return nil
	}
	var err error
	if j.in, err = cli.NewFeed(stdin); err == nil {
		j.Stdin = j.in.Program
	}
	return err
}

// openAgain opens a pipe without a name once more, for reading or for writing as flag says, and
// lets a program of any user do that too. It is nil if file is something else, is not open for
// that, or leads from or to a program in another sandbox, which could then read its own output
// pipe.
func openAgain(file *os.File, flag int) *os.File {
	var of unix.Statfs_t
	fd := int(file.Fd())
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != flag || unix.Fstatfs(fd, &of) != nil || of.Type != unix.PIPEFS_MAGIC {
		return nil
	}
	again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), flag|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // somebody else's, whom we may not be
	}
	if !isOneWay(again, flag) {
		unix.Close(again)
		return nil
	}
	return os.NewFile(uintptr(again), file.Name())
}

// isOneWay lets every user open the pipe in the direction of flag, unless every user may open it in
// the other. If two processes ask at once for different directions, one or both are refused.
func isOneWay(fd, flag int) bool {
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	defer func() { _ = unix.Flock(fd, unix.LOCK_UN) }() // or it ends with the descriptor
	want, other := uint32(cli.MayRead), uint32(cli.MayWrite)
	if flag == unix.O_WRONLY {
		want, other = other, want
	}
	var stat unix.Stat_t
	return unix.Fstat(fd, &stat) == nil && stat.Mode&other == 0 && unix.Fchmod(fd, stat.Mode&0o777|want) == nil
}

// begin copies the streams that need copying. It closes our copies of the program's ends, so that
// each side sees the other's end of file.
func (j *joint) begin() {
	if j.in != nil {
		j.work.Go(j.in.Run)
	} else {
		closeFile(&j.Stdin)
	}
	closeFile(&j.Stdout)
	if j.out != nil {
		j.work.Go(j.copyOutput)
	}
}

func (j *joint) copyOutput() {
	defer j.out.Close() // so that the program hears it too
	_, err := io.Copy(j.to, j.out)
	if err != nil && !errors.Is(err, syscall.EPIPE) { // a reader such as head wants no more output
		j.err = fmt.Errorf("passing on output: %w", err)
	}
}

// leave returns when all output of the program has been passed on. The program's ends must be
// closed by then.
func (j *joint) leave() error {
	if j.in != nil {
		j.in.Stop()
	}
	j.work.Wait()
	if j.in != nil {
		j.in.Close()
		j.Stdin = nil
	}
	closeFile(&j.Stdin)
	closeFile(&j.Stdout)
	closeFile(&j.out)
	return j.err
}

func closeFile(file **os.File) {
	if *file != nil {
		(*file).Close()
		*file = nil
	}
}
