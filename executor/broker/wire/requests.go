package wire

import (
	"context"
	"os"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// kind names one of the requests.
type kind string

// The requests, and the word that ends one early.
const (
	kindStart       kind = "start"
	kindRemoveDisk  kind = "remove_disk"
	kindOpen        kind = "open"
	kindResize      kind = "resize"
	kindMount       kind = "mount"
	kindShows       kind = "shows"
	kindListen      kind = "listen"
	kindSignal      kind = "signal"
	kindKillInit    kind = "kill_init"
	kindFreeze      kind = "freeze"
	kindThaw        kind = "thaw"
	kindEnd         kind = "end"
	kindNewRun      kind = "new_run"
	kindNameRun     kind = "name_run"
	kindOpenRun     kind = "open_run"
	kindKillRun     kind = "kill_run"
	kindEndRun      kind = "end_run"
	kindNewPlace    kind = "new_place"
	kindEndPlace    kind = "end_place"
	kindGauge       kind = "gauge"
	kindWatchMemory kind = "watch_memory"

	kindStartRuntime  kind = "start_runtime"
	kindStartUnpacker kind = "start_unpacker"
	kindStartFiles    kind = "start_files"
	kindAwaitProgram  kind = "await_program"
	kindKillProgram   kind = "kill_program"

	kindFindLayout      kind = "find_layout"
	kindOpenLayout      kind = "open_layout"
	kindOpenCredentials kind = "open_credentials"

	kindCancel kind = "cancel" // of the request of the same number; it has no answer
)

// isQuick reports whether requests of the kind are carried out before the next one is read: another goroutine for each of them would take
// longer. They wait for no process, no disk, no memory to be reclaimed and no other request about the same run, as the reader must not.
func isQuick(k kind) bool { return k == kindNewRun || k == kindGauge }

// request is the arguments of one kind.
type request interface {
	// do has the broker carry it out.
	do(ctx context.Context, by broker.Broker) (reply, error)
}

// reply is the outcome of a request.
type reply struct {
	value any // nil for requests without one
	files []*os.File
	close func() // after the files were passed on; may be nil
}

// blanks makes an empty request of each kind.
func blanks() map[kind]func() request {
	return map[kind]func() request{
		kindStart:       func() request { return new(start) },
		kindRemoveDisk:  func() request { return new(removeDisk) },
		kindOpen:        func() request { return new(open) },
		kindResize:      func() request { return new(resize) },
		kindMount:       func() request { return new(mount) },
		kindShows:       func() request { return new(shows) },
		kindListen:      func() request { return new(listen) },
		kindSignal:      func() request { return new(signal) },
		kindKillInit:    func() request { return new(killInit) },
		kindFreeze:      func() request { return new(freeze) },
		kindThaw:        func() request { return new(thaw) },
		kindEnd:         func() request { return new(end) },
		kindNewRun:      func() request { return new(newRun) },
		kindNameRun:     func() request { return new(nameRun) },
		kindOpenRun:     func() request { return new(openRun) },
		kindKillRun:     func() request { return new(killRun) },
		kindEndRun:      func() request { return new(endRun) },
		kindNewPlace:    func() request { return new(newPlace) },
		kindEndPlace:    func() request { return new(endPlace) },
		kindGauge:       func() request { return new(gauge) },
		kindWatchMemory: func() request { return new(watchMemory) },

		kindStartRuntime:  func() request { return new(startRuntime) },
		kindStartUnpacker: func() request { return new(startUnpacker) },
		kindStartFiles:    func() request { return new(startFiles) },
		kindAwaitProgram:  func() request { return new(awaitProgram) },
		kindKillProgram:   func() request { return new(killProgram) },

		kindFindLayout:      func() request { return new(findLayout) },
		kindOpenLayout:      func() request { return new(openLayout) },
		kindOpenCredentials: func() request { return new(openCredentials) },
	}
}

// read returns the request in a message, which is one of those that blanks has.
func read(blanks map[kind]func() request, m message) (request, error) {
	blank := blanks[m.Kind]
	if blank == nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "%.200q is no request to the broker", m.Kind)
	}
	r := blank()
	if err := packet.Decode(m.Args, r); err != nil {
		return nil, yurt.OrCode(err, yurt.CodeInvalidArgument, "request "+string(m.Kind))
	}
	return r, nil
}

// sandbox is the arguments of a request about a sandbox.
type sandbox struct {
	Sandbox string `json:"sandbox"`
}

// run is the arguments of a request about a run, or a place for one.
type run struct {
	Sandbox string `json:"sandbox"`
	Run     string `json:"run"`
}

// tree is the arguments of a request about a tree in a sandbox.
type tree struct {
	Sandbox string `json:"sandbox"`
	Layer   string `json:"layer,omitempty"`
	View    string `json:"view,omitempty"`
}

func (t tree) named() broker.Tree { return broker.Tree{Layer: t.Layer, View: t.View} }

type start struct{ broker.StartRequest }

func (r *start) do(ctx context.Context, by broker.Broker) (reply, error) {
	started, err := by.Start(ctx, r.StartRequest)
	return reply{value: startAnswer{started, newRunAnswer{len(started.Next.Birth)}}, files: started.Next.Files(), close: started.Next.Close}, err
}

// startAnswer says of the files which ones are which, beside the sandbox.
type startAnswer struct {
	broker.Started
	newRunAnswer
}

type removeDisk struct{ sandbox }

func (r *removeDisk) do(_ context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.RemoveDisk(r.Sandbox)
}

type open struct {
	Sandbox string         `json:"sandbox"`
	Places  []broker.Place `json:"places"`
}

func (r *open) do(_ context.Context, by broker.Broker) (reply, error) {
	files, err := by.Open(r.Sandbox, r.Places...)
	return reply{files: files, close: func() { descriptor.CloseAll(files) }}, err
}

// passed is the reply with a file that belongs to it.
func passed(file *os.File, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return reply{files: []*os.File{file}, close: func() { file.Close() }}, nil
}

type resize struct {
	Sandbox string         `json:"sandbox"`
	From    yurt.Resources `json:"from"`
	To      yurt.Resources `json:"to"`
}

func (r *resize) do(_ context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.Resize(r.Sandbox, r.From, r.To)
}

type mount struct{ tree }

func (r *mount) do(_ context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.Mount(r.Sandbox, r.named())
}

type shows struct{ tree }

func (r *shows) do(_ context.Context, by broker.Broker) (reply, error) {
	shown, err := by.Shows(r.Sandbox, r.named())
	return reply{value: shown}, err
}

type listen struct{ sandbox }

func (r *listen) do(_ context.Context, by broker.Broker) (reply, error) {
	listener, err := by.Listen(r.Sandbox)
	if err != nil {
		return reply{}, err
	}
	defer listener.Close()
	return passed(fileOf(listener))
}
