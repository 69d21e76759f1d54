package initd

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Stream tells which descriptor of a process a chunk was written to.
type Stream byte

// The streams.
const (
	Stdout  Stream = 1
	Stderr  Stream = 2
	Control Stream = 3 // descriptor 3: a run's result
)

// Streams is how many streams a process has.
const Streams = 3

// StartRequest asks for a process. The descriptors that come with it are, in
// order: stdin, stdout and stderr, those that it says it has, then the cgroup
// descriptors of the run.
type StartRequest struct {
	ID           string   `json:"id"`
	Argv         []string `json:"argv"`
	Env          []string `json:"env"`
	Dir          string   `json:"dir"`
	UID          uint32   `json:"uid"`
	GID          uint32   `json:"gid"`
	HasStdin     bool     `json:"has_stdin,omitempty"`     // otherwise /dev/null
	HasStdout    bool     `json:"has_stdout,omitempty"`    // otherwise a pipe, whose output is kept
	HasStderr    bool     `json:"has_stderr,omitempty"`    // likewise
	HasControl   bool     `json:"has_control,omitempty"`   // give it descriptor 3
	OutputLimit  int64    `json:"output_limit"`            // bytes of each of stdout and stderr that are kept
	ControlLimit int64    `json:"control_limit,omitempty"` // bytes of descriptor 3 that are kept

	OpenStdin bool        `json:"open_stdin,omitempty"` // InputRequests bring the data of stdin
	Terminal  *WindowSize `json:"terminal,omitempty"`   // stdin, stdout and stderr are a terminal, whose output is of Stdout

	// Zygote marks a process that forks others: descriptor 3 is the socket on which init asks it to. From is the ID of
	// the zygote that forks this process; "" means that init starts it.
	Zygote bool   `json:"zygote,omitempty"`
	From   string `json:"from,omitempty"`
}

// AttachRequest asks for the output of a process after a chunk.
type AttachRequest struct {
	ID    string `json:"id"`
	After uint64 `json:"after"`
}

// ProcessRequest names a process.
type ProcessRequest struct {
	ID string `json:"id"`
}

// PlaceRequest asks for the process that would serve the next request to a zygote to be moved
// into a cgroup, on v2. The descriptor that comes with it is the cgroup's cgroup.procs, open for
// writing.
type PlaceRequest struct {
	Zygote string `json:"zygote"` // its ID
}

// SignalRequest asks for a signal to the process and its process group, or to the process
// alone. An init of before Alone was there sends it to the group.
type SignalRequest struct {
	ID     string `json:"id"`
	Signal int    `json:"signal"`
	Alone  bool   `json:"alone,omitempty"`
}

// Ready answers a KindPing. An older init, which does not know Ready, sends an empty payload.
type Ready struct {
	Keeps bool `json:"keeps,omitempty"` // the connection goes on with another request
}

// Begun says that the process was started.
type Begun struct {
	PID int `json:"pid"` // inside the sandbox
	// Keeps says that the connection goes on after the process's end: with a KindForget for
	// it, which is not answered, and then another request.
	Keeps bool `json:"keeps,omitempty"`
}

// Ack says that the host has kept every chunk up to Seq.
type Ack struct {
	Seq uint64 `json:"seq"`
}

// Exit says how the process ended, after its last chunk.
type Exit struct {
	Code   int            `json:"code"`             // exit code; -1 if a signal ended it
	Signal int            `json:"signal,omitempty"` // the signal that ended it
	Last   uint64         `json:"last,omitempty"`   // number of the last chunk; 0 also from an init of an older version
	Bytes  [Streams]int64 `json:"bytes"`            // written to stdout, stderr and control, also beyond the limits
}

// Reasons of [Failure].
const (
	ReasonBadRequest = "bad_request"
	ReasonNotFound   = "not_found"   // no such process
	ReasonNoCommand  = "no_command"  // argv[0] is not there or cannot be executed
	ReasonNoDir      = "no_dir"      // the working directory is not there
	ReasonFork       = "fork"        // the process could not be started
	ReasonCgroup     = "join_cgroup" // the process would have been outside its limits
	ReasonNoStdin    = "no_stdin"    // the process has no stdin that could be written to, or not any more
	ReasonNoTerminal = "no_terminal" // the process has no terminal
	ReasonNoFork     = "no_fork"     // the zygote is gone or could not serve; no process was started
)

// Failure says why a request was refused.
type Failure struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Chunk is a piece of output. Seq counts a process's chunks from 1 without gaps.
type Chunk struct {
	Seq    uint64
	Stream Stream
	Data   []byte
}

// chunkCost is the memory that a kept chunk takes beside its data, in bytes.
const chunkCost = 64

// Cost is the memory that init counts for the chunk until the host acknowledges it, in bytes. The host counts alike:
// if it counted data alone, it would acknowledge output in small pieces too late.
func (c Chunk) Cost() int { return chunkCost + len(c.Data) }

// AppendChunk appends the encoded chunk, frame and all, to buf.
func AppendChunk(buf []byte, c Chunk) []byte {
	return append(AppendChunkHeader(buf, c), c.Data...)
}

// ChunkHeader is how many bytes of an encoded chunk come before its data.
const ChunkHeader = frameHeader + chunkHeader

// AppendChunkHeader appends the encoded chunk, up to its data, to buf.
func AppendChunkHeader(buf []byte, c Chunk) []byte {
	buf = append(buf, byte(KindChunk))
	buf = binary.BigEndian.AppendUint32(buf, uint32(chunkHeader+len(c.Data)))
	buf = binary.BigEndian.AppendUint64(buf, c.Seq)
	return append(buf, byte(c.Stream))
}

// Chunk reads the frame as a chunk, whose data is the frame's own bytes.
func (f Frame) Chunk() (Chunk, error) {
	if f.Kind != KindChunk {
		return Chunk{}, fmt.Errorf("expected a chunk, got a %q frame", f.Kind)
	}
	if len(f.Payload) <= chunkHeader || len(f.Payload) > chunkHeader+MaxChunk {
		return Chunk{}, fmt.Errorf("a chunk frame of %d bytes is out of bounds", len(f.Payload))
	}
	c := Chunk{
		Seq:    binary.BigEndian.Uint64(f.Payload),
		Stream: Stream(f.Payload[8]),
		Data:   f.Payload[chunkHeader:],
	}
	if c.Stream < Stdout || c.Stream > Control {
		return Chunk{}, fmt.Errorf("chunk of unknown stream %d", c.Stream)
	}
	return c, nil
}

// Validate checks the fields of a start request.
func (r *StartRequest) Validate() error {
	switch {
	case r.ID == "":
		return errors.New("id is empty")
	case len(r.Argv) == 0 || r.Argv[0] == "":
		return errors.New("argv is empty")
	case r.UID == 0 || r.GID == 0:
		return errors.New("a process may not run as uid or gid 0")
	case r.OutputLimit < 0 || r.ControlLimit < 0:
		return errors.New("limits may not be negative")
	case r.Zygote && (r.HasControl || r.From != ""):
		return errors.New("a zygote has no descriptor 3 of its own, and is no fork itself")
	case r.From != "" && r.Terminal != nil:
		return errors.New("a fork has no terminal")
	}
	return r.validateStdio()
}

func (r *StartRequest) validateStdio() error {
	switch {
	case r.OpenStdin && r.HasStdin:
		return errors.New("stdin cannot both come along and be open")
	case r.Terminal != nil && (r.HasStdin || r.HasStdout || r.HasStderr || r.OpenStdin):
		return errors.New("a terminal stands for all of stdin, stdout and stderr")
	case r.Terminal != nil && !r.Terminal.valid():
		return errors.New("a terminal has at least one row and one column")
	}
	return nil
}
