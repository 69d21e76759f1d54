package run

import (
	"bytes"
	"strconv"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/runlog"
)

// tail is the end of a streamed run's output. Output that is on its way to the watcher is
// lost with this executor. So when the run ends its tail is written to its log, before the
// result, and the next executor hands it over once more.
type tail struct {
	chunks []initd.Chunk
	size   int // cost of the chunks, in bytes
}

// maxTail is how many bytes a tail has at least, if the output had as many: more than can be on its
// way, which is the window of a stream of the API, and one message.
const maxTail = 5 << 18

func (t *tail) add(chunk initd.Chunk) {
	t.chunks = append(t.chunks, chunk)
	if t.size += chunk.Cost(); t.size < 2*maxTail {
		return // it is cut seldom, since a cut copies the rest
	}
	cut := 0
	for ; t.size > maxTail; cut++ {
		t.size -= t.chunks[cut].Cost()
	}
	t.chunks = append([]initd.Chunk(nil), t.chunks[cut-1:]...)
	t.size += t.chunks[0].Cost()
}

// keepTail writes the run's tail to its log. Without it there is no end in the log either, and the
// next executor asks yurt-init for both.
func (e *Engine) keepTail(r *Run) {
	chunks := r.stream.tail.chunks
	if len(chunks) == 0 {
		return
	}
	before := strconv.AppendUint(nil, chunks[0].Seq-1, 10)
	err := r.Log.Append(runlog.Entry{Kind: runlog.Skipped, At: time.Now(), Data: before})
	for _, chunk := range chunks {
		if err == nil {
			err = r.Log.Append(EntryOf(chunk))
		}
	}
	if err != nil {
		e.logger.Warn("keeping the end of a streamed output", "execution", r.Record.ID, "error", err)
		r.Log.Close()
	}
}

// watchTail hands the rest of a streamed run that has ended to its watcher, which has the events up
// to after.
func (r *Run) watchTail(after uint64, each func(yurt.Event) error) error {
	if after == 0 {
		after = eventsBeforeOutput
		if err := each(yurt.Event{Seq: after, Type: yurt.EventStarted, At: r.StartedAt}); err != nil {
			return err
		}
	}
	seq := after
	err := r.readLog(func(entry runlog.Entry) error {
		event := yurt.Event{At: entry.At, Data: bytes.Clone(entry.Data)}
		switch entry.Kind {
		case runlog.Skipped:
			skipped, err := strconv.ParseUint(string(entry.Data), 10, 64)
			seq = skipped + eventsBeforeOutput
			return err
		case runlog.Stdout:
			event.Type = yurt.EventStdout
		case runlog.Stderr:
			event.Type = yurt.EventStderr
		default:
			return nil
		}
		if seq++; seq <= after {
			return nil
		}
		if seq > after+1 {
			return yurt.Errorf(yurt.CodeSandboxFailed, "execution %s has ended, and of its output nothing is kept between events %d and %d", r.Record.ID, after, seq)
		}
		event.Seq, after = seq, seq
		return each(event)
	})
	if err != nil {
		return err
	}
	return tellEnd(r, after, each)
}

// tellEnd tells of the end of a run, after the last event.
func tellEnd(r *Run, after uint64, each func(yurt.Event) error) error {
	result, err := r.outcome()
	if err != nil {
		return err
	}
	return each(yurt.Event{Seq: after + 1, Type: yurt.EventEnded, At: result.EndedAt, Result: result})
}
