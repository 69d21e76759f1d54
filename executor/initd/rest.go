package initd

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// ErrSilent says that a process was killed and yurt-init did not tell how it ended.
var ErrSilent = errors.New("yurt-init did not say how it ended, though it was killed")

// maxRest bounds the output of a process after it was killed, by [Chunk.Cost]: more than yurt-init keeps of all
// processes plus the capacity of one process's pipes.
const maxRest = 32 << 20

// rest bounds the output that may still come from a killed process.
type rest struct {
	mu      sync.Mutex
	waiting bool          // a call reads
	killed  bool          // the process; else there is no bound
	left    time.Duration // how long yurt-init may yet be waited for
	since   time.Time     // when the wait began, or its bound
	room    int
}

// Killed says that the process was killed with all that it started, and bounds how long its end
// is waited for, in all. The time that the caller of [Output.Next] takes from one call to the
// next does not count.
func (o *Output) Killed(patience time.Duration) {
	r := &o.rest
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return
	}
	r.killed, r.left, r.room = true, patience, maxRest
	if r.waiting {
		_ = r.limit(o.conn) // it fails on a connection that is closed, which ends the wait too
	}
}

// limit has a read of the connection end when patience does. The lock is held.
func (r *rest) limit(conn *net.UnixConn) error {
	if r.left <= 0 || r.room <= 0 {
		return ErrSilent
	}
	r.since = time.Now()
	return conn.SetReadDeadline(r.since.Add(r.left))
}

// begin is called before each read.
func (r *rest) begin(conn *net.UnixConn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = true
	if !r.killed {
		return nil
	}
	return r.limit(conn)
}

// end is called after each read, with its size and its error.
func (r *rest) end(size int, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = false
	if !r.killed {
		return err
	}
	r.left -= time.Since(r.since)
	r.room -= chunkCost + size
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrSilent
	}
	return err
}

// read returns the next frame.
func (o *Output) read() (Frame, error) {
	if err := o.rest.begin(o.conn); err != nil {
		return Frame{}, err
	}
	frame, err := o.reader.Next()
	return frame, o.rest.end(len(frame.Payload), err)
}
