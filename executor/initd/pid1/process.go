package pid1

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/yurtrun/yurt/executor/initd"
)

// Bounds of the output that is kept until the host has it, in bytes. At its bound a process blocks in its next write,
// as on a full pipe; the host keeps up unless it is being restarted. All kept output together must fit init's memory
// limit.
const (
	maxKept    = 24 << 20           // of all processes, unless they are many
	maxUnacked = 1 << 20            // of a process, when there are few
	minUnacked = 2 * initd.AckEvery // of a process, when there are many: more than the host leaves unacknowledged
)

// process is one process and the output that the host does not have yet.
type process struct {
	child

	id      string
	room    func() int // how much it may keep, in bytes
	readers []*streamReader
	input   *input  // nil if the host cannot write to its stdin
	zygote  *zygote // nil for other processes

	mu      sync.Mutex
	changed *sync.Cond // a chunk came, chunks were acknowledged, the process ended or was released
	chunks  []initd.Chunk
	size    int // memory that the chunks take, in bytes
	last    uint64
	exit    *initd.Exit
	gone    bool // released: chunks have no reader any more
}

// childFiles are the child's ends of its descriptors.
type childFiles struct {
	files []*os.File
}

func (c *childFiles) fds() []uintptr {
	fds := make([]uintptr, len(c.files))
	for i, f := range c.files {
		fds[i] = f.Fd()
	}
	return fds
}

func (c *childFiles) close() { closeAll(c.files) }

// newProcess makes the streams of a process that is about to start. It takes over given, the descriptors that came
// with the request; an entry is nil if none was sent.
func newProcess(req initd.StartRequest, given [3]*os.File, buffers *sync.Pool, room func() int) (*process, *childFiles, error) {
	p := &process{id: req.ID, room: room}
	p.changed = sync.NewCond(&p.mu)
	child := &childFiles{}
	if err := p.openFiles(child, req, given, buffers); err != nil {
		child.close()
		p.discard()
		return nil, nil, err
	}
	return p, child, nil
}

func (p *process) openFiles(child *childFiles, req initd.StartRequest, given [3]*os.File, buffers *sync.Pool) error {
	var err error
	if req.Terminal != nil {
		err = p.openTerminal(child, req, buffers)
	} else {
		err = p.openStreams(child, req, given, buffers)
	}
	if err == nil && req.Zygote {
		return p.openZygote(child)
	}
	if err != nil || !req.HasControl {
		return err
	}
	return p.openPipe(child, initd.Control, req.ControlLimit, buffers)
}

// openTerminal makes a terminal the child's stdin, stdout and stderr.
func (p *process) openTerminal(child *childFiles, req initd.StartRequest, buffers *sync.Pool) error {
	master, end, err := openTerminal(req.UID, req.GID, *req.Terminal)
	if err != nil {
		return err
	}
	child.files = append(child.files, end, end, end)
	p.input = &input{file: master, terminal: true}
	p.readers = append(p.readers, newStreamReader(p, initd.Stdout, master, req.OutputLimit, buffers))
	return nil
}

// openStreams gives the child the descriptors that came with the request, and pipes for the rest.
func (p *process) openStreams(child *childFiles, req initd.StartRequest, given [3]*os.File, buffers *sync.Pool) error {
	stdin, err := given[0], error(nil)
	switch {
	case req.OpenStdin:
		stdin, err = p.openInput()
	case stdin == nil:
		stdin, err = openNull()
	}
	if err != nil {
		return fmt.Errorf("opening stdin: %w", err)
	}
	child.files = append(child.files, stdin)
	for _, stream := range []initd.Stream{initd.Stdout, initd.Stderr} {
		if file := given[stream]; file != nil {
			child.files = append(child.files, file)
			continue
		}
		if err := p.openPipe(child, stream, req.OutputLimit, buffers); err != nil {
			return err
		}
	}
	return nil
}

// openInput makes the pipe from which the child reads the host's input.
func (p *process) openInput() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.input = &input{file: w}
	return r, r.Chmod(0o444) // so that the user may open /dev/stdin again, by name
}

// openPipe makes the pipe that the child writes a stream to.
func (p *process) openPipe(child *childFiles, stream initd.Stream, limit int64, buffers *sync.Pool) error {
	r, w, err := pipeFrom()
	if err != nil {
		return err
	}
	child.files = append(child.files, w)
	p.readers = append(p.readers, newStreamReader(p, stream, r, limit, buffers))
	// So that the user may open /dev/stdout and /dev/stderr again, by name.
	if err := w.Chmod(0o222); err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	return nil
}

// pump starts the readers of the process's output.
func (p *process) pump() {
	for _, r := range p.readers {
		go r.run()
	}
}

// discard closes the files of newProcess when the process was not started.
func (p *process) discard() {
	for _, r := range p.readers {
		r.pipe.Close()
	}
	if p.input != nil {
		p.input.close()
	}
	if p.zygote != nil {
		p.zygote.conn.Close()
	}
}

// finish records how the process ended once all that it wrote is numbered.
func (p *process) finish(status syscall.WaitStatus) {
	exit := &initd.Exit{Code: status.ExitStatus()}
	if status.Signaled() {
		exit.Signal = int(status.Signal())
	}
	for _, r := range p.readers {
		exit.Bytes[r.stream-1] = r.drain()
	}
	if p.input != nil {
		p.input.close()
	}
	if p.zygote != nil {
		p.zygote.conn.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	exit.Last = p.last
	p.exit = exit
	p.changed.Broadcast()
}

// add numbers a chunk and keeps it, waiting for room first.
func (p *process) add(stream initd.Stream, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.size >= p.room() && !p.gone {
		p.changed.Wait()
	}
	if p.gone {
		return
	}
	p.last++
	chunk := initd.Chunk{Seq: p.last, Stream: stream, Data: data}
	p.chunks = append(p.chunks, chunk)
	p.size += chunk.Cost()
	p.changed.Broadcast()
}

// ack drops the chunks up to seq.
func (p *process) ack(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.chunks) > 0 && p.chunks[0].Seq <= seq {
		p.size -= p.chunks[0].Cost()
		p.chunks[0].Data = nil
		p.chunks = p.chunks[1:]
	}
	p.changed.Broadcast()
}

// release frees the output and wakes readers that wait for room.
func (p *process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone, p.chunks, p.size = true, nil, 0
	p.changed.Broadcast()
}

// wait returns the chunks after seq once there are any, or how the process ended
// when all chunks were sent. It returns neither when stopped says so.
func (p *process) wait(seq uint64, stopped func() bool) ([]initd.Chunk, *initd.Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if stopped() || p.gone {
			return nil, nil
		}
		if p.last > seq && len(p.chunks) > 0 {
			first := p.chunks[0].Seq
			skip := 0
			if seq >= first {
				skip = int(seq - first + 1)
			}
			return append([]initd.Chunk(nil), p.chunks[skip:]...), nil
		}
		if p.exit != nil {
			return nil, p.exit
		}
		p.changed.Wait()
	}
}

// wake lets wait look at its stopped function again.
func (p *process) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.Broadcast()
}
