package executor

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

// journalPrefix begins the name, in a sandbox's directory, of what says how far the
// output of a run has got in its log files.
const journalPrefix = "output-"

func (r *run) journal() string { return r.sandbox.Path(journalPrefix + r.record.ID) }

// outputLimit is how many bytes of each of stdout and stderr come out of the sandbox.
func (r *run) outputLimit() int64 {
	switch {
	case !r.record.unlimited():
		return int64(r.record.Limit)
	case r.record.Logs == nil && !r.record.Streamed:
		return 0 // it is counted and dropped inside
	default:
		return math.MaxInt64
	}
}

// logPlace is where the log of an execution is. All of it is on disk where the sandbox is.
func (s *handle) logPlace(id string) runlog.Place {
	place := runlog.Place{Path: filepath.Join(s.Path(sandbox.RunsDir), id)}
	if s.Store != s.Dir {
		place.Overflow, place.Memory = filepath.Join(s.Store, sandbox.RunsDir, id), s.memory
	}
	return place
}

func (r *run) place() runlog.Place { return r.sandbox.logPlace(r.record.ID) }

// openLogs opens the log files of a run that has some, where they end.
func (r *run) openLogs(logger *slog.Logger) (err error) {
	if r.record.Logs == nil {
		return nil
	}
	if r.logs, err = logfiles.Open(r.journal(), *r.record.Logs, logger.With("execution", r.record.ID, "sandbox", r.sandbox.ID())); err != nil {
		return fmt.Errorf("opening the log files of execution %s: %w", r.record.ID, err)
	}
	return nil
}

func (r *run) closeLogs() {
	if r.logs != nil {
		r.logs.Close()
		r.logs = nil
	}
}

// keep puts a chunk where the output of the run goes. Once it has, the sandbox may
// forget it.
func (r *run) keep(ctx context.Context, chunk initd.Chunk) error {
	if r.stream != nil {
		return r.hand(ctx, chunk)
	}
	if r.logs == nil {
		return r.log.Append(entryOf(chunk))
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
		return r.log.Append(entryOf(chunk))
	}
}

// removeLog removes what is kept of the run's output.
func (r *run) removeLog() error {
	err := runlog.Remove(r.place())
	if r.record.Logs != nil {
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
