package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"

	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/logfiles"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// journalPrefix begins the name of the file, in a sandbox's directory, that notes how far the
// output of a run has got in its log files.
const journalPrefix = "output-"

func (r *Run) journal() string { return r.Sandbox.Path(journalPrefix + r.Record.ID) }

// outputLimit is how many bytes of each of stdout and stderr come out of the sandbox.
func (r *Run) outputLimit() int64 {
	switch {
	case !r.Record.Unlimited():
		return int64(r.Record.Limit)
	case r.Record.Logs == nil && !r.Record.Streamed:
		return 0 // it is counted and dropped inside
	default:
		return math.MaxInt64
	}
}

// LogPlace is where the log of an execution is. All of it is on disk where the sandbox is.
func (s *Sandbox) LogPlace(id string) runlog.Place {
	place := runlog.Place{Path: filepath.Join(s.Path(sandbox.RunsDir), id)}
	if s.Store != s.Dir {
		place.Overflow, place.Memory = filepath.Join(s.Store, sandbox.RunsDir, id), s.node.Memory
	}
	return place
}

func (r *Run) place() runlog.Place { return r.Sandbox.LogPlace(r.Record.ID) }

// openLogs opens the log files of a run that has some, where they end.
func (r *Run) openLogs(logger *slog.Logger) (err error) {
	if r.Record.Logs == nil {
		return nil
	}
	if r.logs, err = logfiles.Open(r.journal(), *r.Record.Logs, logger.With("execution", r.Record.ID, "sandbox", r.Sandbox.ID())); err != nil {
		return fmt.Errorf("opening the log files of execution %s: %w", r.Record.ID, err)
	}
	return nil
}

func (r *Run) closeLogs() {
	if r.logs != nil {
		r.logs.Close()
		r.logs = nil
	}
}

// keep puts a chunk where the output of the run goes. Once it has, the sandbox may
// forget it.
func (r *Run) keep(ctx context.Context, chunk initd.Chunk) error {
	if r.stream != nil {
		return r.hand(ctx, chunk)
	}
	if r.logs == nil {
		return r.Log.Append(EntryOf(chunk))
	}
	switch chunk.Stream {
	case initd.Stdout:
		return r.logs.Write(chunk.Seq, logfiles.Stdout, chunk.Data)
	case initd.Stderr:
		return r.logs.Write(chunk.Seq, logfiles.Stderr, chunk.Data)
	default:
		kept, err := r.logs.Skip(chunk.Seq, r.controls)
		if kept || err != nil {
			return err
		}
		r.controls++
		return r.Log.Append(EntryOf(chunk))
	}
}

// removeLog removes the run's log and the journal of its log files.
func (r *Run) removeLog() error {
	err := runlog.Remove(r.place())
	if r.Record.Logs != nil {
		err = errors.Join(err, removeFile(r.journal()))
	}
	return err
}

// removeFile removes the file, if it is there.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
