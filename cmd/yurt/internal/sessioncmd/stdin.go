package sessioncmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// stdinRetry is the pause before an execution that reads no input yet is tried again.
const stdinRetry = 200 * time.Millisecond

// pipedInput returns our standard input where it is a pipe, a file or a socket. A terminal
// or a device, such as /dev/null, is passed on only where a flag asks for it.
func (a *app) pipedInput() *os.File {
	file, ok := a.Stdin.(*os.File)
	if !ok {
		return nil
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 || info.IsDir() {
		return nil
	}
	return file
}

// stdinPump passes a file on to the standard input of an execution while that runs. The
// command that runs the execution calls begin once it has started, and close in any case.
type stdinPump struct {
	from       *os.File
	client     *yurtclient.Client
	sessionID  string
	ended, end *os.File // ended is readable once end is closed
	work       sync.WaitGroup
	once       sync.Once
	cancel     context.CancelFunc
}

func newStdinPump(from *os.File, client *yurtclient.Client, sessionID string) (*stdinPump, error) {
	ended, end, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	return &stdinPump{from: from, client: client, sessionID: sessionID, ended: ended, end: end, cancel: func() {}}, nil
}

func (p *stdinPump) begin(ctx context.Context, executionID string) {
	if p == nil {
		return
	}
	p.once.Do(func() {
		feeding, cancel := context.WithCancel(ctx)
		p.cancel = cancel
		p.work.Go(func() {
			err := cli.Pump(p.from, p.ended, func(data []byte) error { return p.write(feeding, executionID, data, false) })
			if errors.Is(err, io.EOF) {
				_ = p.write(feeding, executionID, nil, true) // or the execution has ended
			}
		})
	})
}

// write waits for an execution whose packages are still installed.
func (p *stdinPump) write(ctx context.Context, executionID string, data []byte, eof bool) error {
	for {
		err := p.client.WriteStdin(ctx, p.sessionID, executionID, data, eof)
		if yurt.CodeOf(err) != yurt.CodeUnavailable {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(stdinRetry):
		}
	}
}

// close stops passing input on; input that the execution has not taken by then is dropped.
func (p *stdinPump) close() {
	if p == nil {
		return
	}
	p.cancel()
	p.end.Close()
	p.work.Wait()
	p.ended.Close()
}
