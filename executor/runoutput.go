package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"

	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/logfiles"
)

// journalPrefix begins the name, in a sandbox's directory, of what says how far the
// output of a run has got in its log files.
const journalPrefix = "output-"

func (r *run) journal() string { return r.sandbox.path(journalPrefix + r.record.ID) }

// outputLimit is how many bytes of each of stdout and stderr come out of the sandbox.
func (r *run) outputLimit() int64 {
	switch {
	case !r.record.Endless:
		return int64(r.record.Limit)
	case r.record.Logs == nil:
		return 0 // it is counted and dropped inside
	default:
		return math.MaxInt64
	}
}

// openLogs opens the log files of a run that has some, where they end.
func (r *run) openLogs(logger *slog.Logger) (err error) {
	if r.record.Logs == nil {
		return nil
	}
	if r.logs, err = logfiles.Open(r.journal(), *r.record.Logs, logger.With("execution", r.record.ID, "sandbox", r.sandbox.id)); err != nil {
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
func (r *run) keep(chunk initd.Chunk) error {
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
	err := os.Remove(r.path)
	if r.record.Logs != nil {
		err = errors.Join(err, os.Remove(r.journal()))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
