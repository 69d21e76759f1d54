package programs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/packet"
	"github.com/yurtrun/yurt/plugins/binary"
)

// Runtimes starts language runtimes for the host of a plugin directory.
type Runtimes struct{ By Requests }

// StartRuntime starts a runtime.
func (r Runtimes) StartRuntime(request binary.Request) (binary.Program, error) {
	started, err := r.By.StartRuntime(request)
	if err == nil {
		err = check(started)
	}
	if err != nil {
		return binary.Program{}, err
	}
	return binary.Program{
		PID: started.PID, Stdout: started.Files[0], Stderr: started.Files[1], Dir: started.Files[2],
		Wait: func() binary.End { return await(r.By, started.ID) },
		Kill: func() { kill(r.By, started.ID) },
	}, nil
}

// Unpackers starts unpackers for a store of images.
type Unpackers struct{ By Requests }

// StartUnpacker starts an unpacker.
func (u Unpackers) StartUnpacker(image string, fileBytes int64) (confine.Piped, error) {
	started, err := u.By.StartUnpacker(Unpacking{Image: image, FileBytes: fileBytes})
	if err == nil {
		err = check(started)
	}
	if err != nil {
		return confine.Piped{}, err
	}
	return confine.Piped{
		Stdin: started.Files[0], Stdout: started.Files[1], Stderr: started.Files[2],
		Wait: func() error { return failure(await(u.By, started.ID)) },
		Kill: func() { kill(u.By, started.ID) },
	}, nil
}

// streams is how many files each program has.
const streams = 3

func check(p Program) error {
	if len(p.Files) == streams {
		return nil
	}
	descriptor.CloseAll(p.Files)
	return fmt.Errorf("a program has %d files in place of %d", len(p.Files), streams)
}

// await waits for a program. A program whose end cannot be learned has ended with the broker.
func await(by Requests, id uint64) binary.End {
	end, err := by.AwaitProgram(context.Background(), id)
	if err != nil {
		return binary.End{Code: -1, Remark: err.Error()}
	}
	return end
}

// kill ends a program, which may have been waited for.
func kill(by Requests, id uint64) { _ = by.KillProgram(id) }

// failure is the end of a program as an error.
func failure(end binary.End) error {
	var err error
	switch {
	case end.Signal != 0:
		err = fmt.Errorf("signal %d", end.Signal)
	case end.Code != 0:
		err = fmt.Errorf("exit status %d", end.Code)
	}
	switch {
	case end.Remark == "":
		return err
	case err == nil:
		return fmt.Errorf("%s", end.Remark)
	default:
		return fmt.Errorf("%w; %s", err, end.Remark)
	}
}

// FileServers starts the process that serves files of sandboxes, for their client.
type FileServers struct {
	By     Requests
	Logger *slog.Logger
}

// Connect starts the process, in place of an earlier one, and returns the socket to it.
func (f FileServers) Connect() (*net.UnixConn, error) {
	started, err := f.By.StartFiles()
	if err != nil {
		return nil, err
	}
	if len(started.Files) != 2 {
		descriptor.CloseAll(started.Files)
		return nil, fmt.Errorf("the server of files has %d files in place of 2", len(started.Files))
	}
	socket, err := packet.Open(started.Files[0])
	if err != nil {
		kill(f.By, started.ID)
	}
	go f.attend(started.ID, started.Files[1]) // ends with the process, which ends with the broker at the latest
	return socket, err
}

// attend waits for the end of a process. One that ends by itself, as it does when its client has closed the socket, is no failure.
func (f FileServers) attend(id uint64, words *os.File) {
	defer words.Close()
	text, _ := io.ReadAll(io.LimitReader(words, maxWords))
	_, _ = io.Copy(io.Discard, words)
	end, err := f.By.AwaitProgram(context.Background(), id)
	if err != nil {
		return // it has ended with the broker, or for the next executor
	}
	if err := failure(end); err != nil {
		f.Logger.Warn("the process that serves files of sandboxes ended; the next call starts another", "error", err, "said", string(text))
	}
}
