package wire

import (
	"context"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/plugins/binary"
)

// program is the arguments of a request about a program.
type program struct {
	Program uint64 `json:"program"`
}

// startedProgram is the answer to a request for a program, beside its files.
type startedProgram struct {
	Program uint64 `json:"program"`
	PID     int    `json:"pid"`
}

// begun is the reply with a program that was started.
func begun(p programs.Program, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return reply{value: startedProgram{p.ID, p.PID}, files: p.Files, close: func() { descriptor.CloseAll(p.Files) }}, nil
}

type startRuntime struct{ binary.Request }

func (r *startRuntime) do(_ context.Context, by broker.Broker) (reply, error) {
	return begun(by.StartRuntime(r.Request))
}

type startUnpacker struct{ programs.Unpacking }

func (r *startUnpacker) do(_ context.Context, by broker.Broker) (reply, error) {
	return begun(by.StartUnpacker(r.Unpacking))
}

type startFiles struct{}

func (r *startFiles) do(_ context.Context, by broker.Broker) (reply, error) {
	return begun(by.StartFiles())
}

type awaitProgram struct{ program }

func (r *awaitProgram) do(ctx context.Context, by broker.Broker) (reply, error) {
	end, err := by.AwaitProgram(ctx, r.Program)
	return reply{value: end}, err
}

type killProgram struct{ program }

func (r *killProgram) do(_ context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.KillProgram(r.Program)
}

// StartRuntime implements [programs.Requests].
func (c *Client) StartRuntime(request binary.Request) (programs.Program, error) {
	return c.program(kindStartRuntime, &startRuntime{request})
}

// StartUnpacker implements [programs.Requests].
func (c *Client) StartUnpacker(request programs.Unpacking) (programs.Program, error) {
	return c.program(kindStartUnpacker, &startUnpacker{request})
}

// StartFiles implements [programs.Requests].
func (c *Client) StartFiles() (programs.Program, error) {
	return c.program(kindStartFiles, &startFiles{})
}

func (c *Client) program(k kind, r request) (programs.Program, error) {
	var started startedProgram
	files, err := c.ask(context.Background(), k, r, &started)
	return programs.Program{ID: started.Program, PID: started.PID, Files: files}, err
}

// AwaitProgram implements [programs.Requests].
func (c *Client) AwaitProgram(ctx context.Context, id uint64) (binary.End, error) {
	var end binary.End
	err := c.value(ctx, kindAwaitProgram, &awaitProgram{program{id}}, &end)
	return end, err
}

// KillProgram implements [programs.Requests].
func (c *Client) KillProgram(id uint64) error {
	return c.value(context.Background(), kindKillProgram, &killProgram{program{id}}, nil)
}
