package logfiles

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Stream is one of the two that are written to files.
type Stream int

// The streams.
const (
	Stdout Stream = 0
	Stderr Stream = 1

	streams = 2
)

// maxIndex bounds the numbers of files. Code that can make files in the directory could otherwise exhaust the numbers.
const maxIndex = 1 << 40

// Writer writes the output of one execution.
type Writer struct {
	options yurt.LogFiles
	logger  *slog.Logger
	dir     *os.File // of the files; nil when it cannot be opened
	journal *os.File
	entry   entry
	files   [streams]*os.File // that grows; nil until it is needed
	failing bool              // said already
}

// Open goes on where the journal at path ends, or begins it, after the present output of the files.
func Open(journal string, options yurt.LogFiles, logger *slog.Logger) (*Writer, error) {
	file, err := os.OpenFile(journal, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal of log files: %w", err)
	}
	w := &Writer{options: options, logger: logger, journal: file}
	if w.dir, err = openBeneath(options.Base, options.Dir); err != nil {
		w.complain(err) // output is dropped, and the execution goes on
	}
	var fresh bool
	if w.entry, fresh, err = readJournal(file); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if fresh {
		for i, name := range w.names() {
			w.entry.after[i] = w.last(name)
		}
		w.entry.before = w.entry.after
		w.begin()
	}
	return w, nil
}

// begin makes the files before there is any output: a follower would otherwise be told that the log does not exist.
func (w *Writer) begin() {
	if w.dir == nil {
		return
	}
	for stream, name := range w.names() {
		if err := w.turn(Stream(stream), name, w.entry.after[stream].index); err != nil {
			w.complain(err)
		}
	}
}

// openBeneath opens the directory dir below base, through no link.
func openBeneath(base, dir string) (*os.File, error) {
	root, err := os.Open(base)
	if err != nil {
		return nil, fmt.Errorf("opening the directory of log files: %w", err)
	}
	defer root.Close()
	fd, err := openat.At(int(root.Fd()), dir, &unix.OpenHow{
		Flags: unix.O_DIRECTORY | unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the directory %s of log files in %s: %w", dir, base, err)
	}
	return os.NewFile(uintptr(fd), dir), nil
}

func (w *Writer) names() [streams]string { return [streams]string{w.options.Stdout, w.options.Stderr} }

// After is the chunk after which the process is to be asked for more.
func (w *Writer) After() uint64 { return max(w.entry.seq, 1) - 1 }

// Skip notes a chunk that is not written here: the caller keeps it then, unless it has
// before, which is answered. have is how many of those it has kept so far.
func (w *Writer) Skip(seq, have uint64) (kept bool, err error) {
	if seq == w.entry.seq && have > w.entry.others {
		return true, nil
	}
	w.advance(seq)
	w.entry.after, w.entry.others = w.entry.before, have
	return false, w.note()
}

// Write writes the chunk of that number. Its number is that of the one before plus one, or
// for the first one after [Open] perhaps the same.
func (w *Writer) Write(seq uint64, stream Stream, data []byte) error {
	w.advance(seq)
	at := w.entry.before[stream]
	pieces := split(at, data, int64(w.options.MaxSize))
	w.entry.after = w.entry.before
	if len(pieces) > 0 {
		last := pieces[len(pieces)-1]
		w.entry.after[stream] = place{last.at.index, last.at.offset + int64(len(last.data))}
	}
	if err := w.note(); err != nil {
		return err
	}
	for _, p := range pieces {
		if err := w.put(stream, p); err != nil {
			w.complain(err)
		}
	}
	return nil
}

// advance makes the entry that of the chunk, whose places are those after the one before,
// unless it is the same again.
func (w *Writer) advance(seq uint64) {
	if seq != w.entry.seq {
		w.entry.before, w.entry.seq = w.entry.after, seq
	}
}

// note writes the journal. A kill does not come in the middle of so small a write.
func (w *Writer) note() error {
	if _, err := w.journal.WriteAt(w.entry.encode(), 0); err != nil {
		return fmt.Errorf("writing the journal of log files: %w", err)
	}
	return nil
}

// piece is a part of a chunk that goes to one file.
type piece struct {
	at   place
	data []byte
}

// split says which part of the data goes to which file. It depends on its arguments alone, so that a chunk that is written again
// goes to the same places.
func split(at place, data []byte, limit int64) (pieces []piece) {
	for len(data) > 0 {
		room := limit - at.offset
		n := int64(len(data))
		if n > room {
			n = cut(data, room, at.offset > 0)
		}
		if n > 0 {
			pieces = append(pieces, piece{at, data[:n]})
			data = data[n:]
			at.offset += n
		}
		if len(data) > 0 {
			at = place{at.index + 1, 0}
		}
	}
	return pieces
}

// cut says how many bytes of data, which has more than there is room for, go into the
// room: whole lines, if a line fits at all.
func cut(data []byte, room int64, used bool) int64 {
	if room <= 0 {
		return 0
	}
	if i := bytes.LastIndexByte(data[:room], '\n'); i >= 0 {
		return int64(i) + 1
	}
	if used { // the line may fit into a file of its own
		return 0
	}
	return room
}

// put writes a piece to its place.
func (w *Writer) put(stream Stream, p piece) error {
	if w.dir == nil {
		return errNoDir
	}
	name := w.names()[stream]
	if w.files[stream] == nil || w.files[stream].Name() != fileName(name, p.at.index) {
		if err := w.turn(stream, name, p.at.index); err != nil {
			return err
		}
	}
	if _, err := w.files[stream].WriteAt(p.data, p.at.offset); err != nil {
		return fmt.Errorf("writing %s: %w", w.files[stream].Name(), err)
	}
	return nil
}

var errNoDir = errors.New("the directory of log files is not there")

// turn goes on to another file, and removes the one that is too many by that.
func (w *Writer) turn(stream Stream, name string, index int64) error {
	if old := w.files[stream]; old != nil {
		old.Close()
		w.files[stream] = nil
	}
	file, err := w.open(fileName(name, index))
	if err != nil {
		return err
	}
	w.files[stream] = file
	if gone := index - int64(w.options.MaxFiles); gone >= 0 {
		_ = unix.Unlinkat(int(w.dir.Fd()), fileName(name, gone), 0) // it may never have been there
	}
	return nil
}

// complain says once that output is lost, and not for every chunk.
func (w *Writer) complain(err error) {
	if w.failing {
		return
	}
	w.failing = true
	w.logger.Error("output is not written to its log files", "dir", w.options.Dir, "base", w.options.Base, "file", w.options.Stdout, "error", err)
}

// Close closes the files.
func (w *Writer) Close() error {
	err := w.journal.Close()
	for _, file := range append(w.files[:], w.dir) {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}
