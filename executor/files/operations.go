package files

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/workspace"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// op names a method of [workspace.Dir].
type op string

const (
	opWrite    op = "write"
	opAppend   op = "append"
	opRead     op = "read"
	opStat     op = "stat"
	opList     op = "list"
	opMakeDir  op = "make_dir"
	opMove     op = "move"
	opChmod    op = "chmod"
	opRemove   op = "remove"
	opPack     op = "pack"
	opUnpack   op = "unpack"
	opWatch    op = "watch"
	opMakePipe op = "make_pipe"
	opOpenPipe op = "open_pipe"
	opListen   op = "listen"
)

// operations is the closed set of requests.
func operations() map[op]func(*call, context.Context) (result, error) {
	return map[op]func(*call, context.Context) (result, error){
		opWrite: (*call).write, opAppend: (*call).append, opRead: (*call).read, opStat: (*call).stat, opList: (*call).list,
		opMakeDir: (*call).makeDir, opMove: (*call).move, opChmod: (*call).chmod, opRemove: (*call).remove, opPack: (*call).pack,
		opUnpack: (*call).unpack, opWatch: (*call).watch, opMakePipe: (*call).makePipe, opOpenPipe: (*call).openPipe, opListen: (*call).listen,
	}
}

// marshal returns no bytes for no value.
func marshal(value any) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	return data, nil
}

func (c *call) mode() fs.FileMode { return fs.FileMode(c.Mode).Perm() }

// withContent runs do with the content that the caller sends.
func (c *call) withContent(do func(io.Reader) error) error {
	buffer := buffers.Get().(*[maxBytes]byte) //nolint:forcetypeassert // the pool has no other
	defer buffers.Put(buffer)
	return do(&content{socket: c.socket, buffer: buffer})
}

func (c *call) write(context.Context) (r result, err error) {
	var condition yurt.Condition
	if c.Condition != nil {
		condition = *c.Condition
	}
	err = c.withContent(func(from io.Reader) (err error) {
		r.value, err = c.dir.WriteIf(c.Path, from, min(c.Limit, yurt.MaxFileBytes), c.mode(), condition)
		return err
	})
	return r, err
}

func (c *call) append(context.Context) (r result, err error) {
	err = c.withContent(func(from io.Reader) (err error) {
		r.value, err = c.dir.Append(c.Path, from, min(c.Limit, yurt.MaxFileBytes), c.mode())
		return err
	})
	return r, err
}

func (c *call) read(context.Context) (result, error) {
	var span yurt.Span
	if c.Span != nil {
		span = *c.Span
	}
	file, info, start, length, err := c.dir.OpenSpan(c.Path, span)
	if err != nil {
		return result{}, err
	}
	return result{opened{info, start, length}, file}, nil
}

func (c *call) stat(context.Context) (r result, err error) {
	r.value, err = c.dir.Stat(c.Path)
	return r, err
}

// list sends the files as content, since they may be too many for a message. The value says whether there are more.
func (c *call) list(ctx context.Context) (r result, err error) {
	if c.List == nil {
		return result{}, fmt.Errorf("a request %q has no options", c.Op)
	}
	err = c.whileThere(ctx, func(ctx context.Context) error {
		list, err := c.dir.List(ctx, c.Path, *c.List)
		if err != nil {
			return err
		}
		r.value = list.More
		data, err := marshal(list.Files)
		if err == nil {
			_, err = pieces{c.socket}.Write(data)
		}
		return err
	})
	return r, err
}

func (c *call) makeDir(context.Context) (result, error) {
	info, fresh, err := c.dir.MakeDir(c.Path, c.mode())
	return result{value: made{info, fresh}}, err
}

func (c *call) move(context.Context) (r result, err error) {
	r.value, err = c.dir.Move(c.Path, c.To, c.Flag)
	return r, err
}

func (c *call) chmod(context.Context) (r result, err error) {
	r.value, err = c.dir.Chmod(c.Path, c.mode())
	return r, err
}

func (c *call) remove(ctx context.Context) (result, error) {
	return result{}, c.whileThere(ctx, func(ctx context.Context) error { return c.dir.Remove(ctx, c.Path, c.Flag) })
}

func (c *call) pack(ctx context.Context) (result, error) {
	return result{}, c.whileThere(ctx, func(ctx context.Context) error { return c.dir.Pack(ctx, c.Path, pieces{c.socket}) })
}

func (c *call) unpack(ctx context.Context) (r result, err error) {
	limits := workspace.Limits{Entries: min(c.Entries, yurt.MaxArchiveEntries), Bytes: min(c.Limit, yurt.MaxArchiveBytes)}
	err = c.withContent(func(from io.Reader) (err error) {
		r.value, err = c.dir.Unpack(ctx, c.Path, from, limits)
		return err
	})
	return r, err
}

// watch sends an empty piece when it watches, and one for each change then.
func (c *call) watch(ctx context.Context) (result, error) {
	return result{}, c.whileThere(ctx, func(ctx context.Context) error {
		ready := func() { _ = packet.Send(c.socket, []byte{tagPiece}, nil) } // the first change fails if the caller has left
		return c.dir.Watch(ctx, c.watches, c.Path, c.Flag, ready, func(e yurt.FileEvent) error {
			data, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("writing a change: %w", err)
			}
			_, err = pieces{c.socket}.Write(data)
			return err
		})
	})
}

func (c *call) makePipe(context.Context) (result, error) { return result{}, c.dir.MakePipe(c.Path) }

func (c *call) openPipe(context.Context) (result, error) {
	file, err := c.dir.OpenPipe(c.Path)
	if err != nil {
		return result{}, err
	}
	return result{file: file}, nil
}

func (c *call) listen(context.Context) (result, error) {
	listener, err := c.dir.Listen(c.Path, min(c.Entries, maxBacklog))
	if err != nil {
		return result{}, err
	}
	return result{file: listener}, nil
}

// maxBacklog bounds the connections that wait at a socket in a sandbox.
const maxBacklog = 4096
