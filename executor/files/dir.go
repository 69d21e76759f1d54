package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/workspace"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// Dir is a directory inside a sandbox, which a server has open. It has the methods of [workspace.Dir], with the same effect.
type Dir struct {
	client *Client
	again  func() (*os.File, error)
	as     opening

	mu     sync.Mutex
	server *peer
	socket *net.UnixConn // to it; nil once the directory is closed
}

// Close lets go of the directory, and ends every request and watch.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.socket == nil {
		return fs.ErrClosed
	}
	err := d.socket.Close()
	d.socket = nil
	return err
}

// Write is [workspace.Dir.Write].
func (d *Dir) Write(name string, content io.Reader, limit int64, mode fs.FileMode) (yurt.FileInfo, error) {
	return d.WriteIf(name, content, limit, mode, yurt.Condition{})
}

// WriteIf is [workspace.Dir.WriteIf].
func (d *Dir) WriteIf(name string, content io.Reader, limit int64, mode fs.FileMode, condition yurt.Condition) (info yurt.FileInfo, err error) {
	r := request{Op: opWrite, Path: name, Limit: limit, Mode: uint32(mode.Perm())}
	x := exchange{from: content, value: &info}
	if !condition.IsZero() {
		r.Condition = &condition
	} else if from, ok := content.(io.Seeker); ok {
		x.again = rewind(from)
	}
	return info, d.do(context.Background(), r, x)
}

// rewind returns the function that goes back to where content is now, or nil for content that can only be read once.
func rewind(content io.Seeker) func() error {
	begin, err := content.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	return func() error {
		_, err := content.Seek(begin, io.SeekStart)
		return err
	}
}

// Append is [workspace.Dir.Append].
func (d *Dir) Append(name string, content io.Reader, limit int64, mode fs.FileMode) (info yurt.FileInfo, err error) {
	r := request{Op: opAppend, Path: name, Limit: limit, Mode: uint32(mode.Perm())}
	return info, d.do(context.Background(), r, exchange{from: content, value: &info})
}

// Read is [workspace.Dir.Read].
func (d *Dir) Read(name string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error) {
	r := request{Op: opRead, Path: name}
	if span != (yurt.Span{}) {
		r.Span = &span
	}
	var is opened
	file, err := d.file(r, &is, 0)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, max(0, is.Start), max(0, is.Length)), file}, is.Info, nil
}

// Stat is [workspace.Dir.Stat].
func (d *Dir) Stat(name string) (info yurt.FileInfo, err error) {
	return info, d.do(context.Background(), request{Op: opStat, Path: name}, exchange{value: &info, again: same})
}

// List is [workspace.Dir.List].
func (d *Dir) List(ctx context.Context, name string, options yurt.ListOptions) (yurt.FileList, error) {
	if err := options.Validate(); err != nil {
		return yurt.FileList{}, err
	}
	var list yurt.FileList
	data := &gathered{most: options.Limit * maxEntry}
	again := func() error { data.data = nil; return nil }
	err := d.do(ctx, request{Op: opList, Path: name, List: &options}, exchange{to: data.add, value: &list.More, again: again})
	if err == nil {
		list.Files, err = data.files(options.Limit)
	}
	if err != nil {
		return yurt.FileList{}, err
	}
	return list, nil
}

// MakeDir is [workspace.Dir.MakeDir]. A directory that a server made which ended then is not fresh.
func (d *Dir) MakeDir(name string, mode fs.FileMode) (info yurt.FileInfo, fresh bool, err error) {
	var is made
	err = d.do(context.Background(), request{Op: opMakeDir, Path: name, Mode: uint32(mode.Perm())}, exchange{value: &is, again: same})
	return is.Info, is.Made, err
}

// Move is [workspace.Dir.Move].
func (d *Dir) Move(from, to string, replace bool) (info yurt.FileInfo, err error) {
	return info, d.do(context.Background(), request{Op: opMove, Path: from, To: to, Flag: replace}, exchange{value: &info})
}

// Chmod is [workspace.Dir.Chmod].
func (d *Dir) Chmod(name string, mode fs.FileMode) (info yurt.FileInfo, err error) {
	return info, d.do(context.Background(), request{Op: opChmod, Path: name, Mode: uint32(mode.Perm())}, exchange{value: &info, again: same})
}

// Remove is [workspace.Dir.Remove].
func (d *Dir) Remove(ctx context.Context, name string, all bool) error {
	return d.do(ctx, request{Op: opRemove, Path: name, Flag: all}, exchange{})
}

// RemoveAll is [workspace.Dir.RemoveAll].
func (d *Dir) RemoveAll(name string) error {
	err := d.do(context.Background(), request{Op: opRemove, Path: name, Flag: true}, exchange{again: same})
	if yurt.CodeOf(err) == yurt.CodeFileNotFound {
		return nil
	}
	return err
}

// Pack is [workspace.Dir.Pack].
func (d *Dir) Pack(ctx context.Context, name string, to io.Writer) error {
	return d.do(ctx, request{Op: opPack, Path: name}, exchange{to: func(data []byte) error {
		_, err := to.Write(data)
		return err
	}})
}

// Unpack is [workspace.Dir.Unpack].
func (d *Dir) Unpack(ctx context.Context, name string, archive io.Reader, limits workspace.Limits) (done yurt.Unpacked, err error) {
	r := request{Op: opUnpack, Path: name, Entries: limits.Entries, Limit: limits.Bytes}
	return done, d.do(ctx, r, exchange{from: archive, value: &done})
}

// Watch is [workspace.Dir.Watch]. All watches of a server share one instance of inotify. After the end of a server the next one watches, and
// changes are told of as lost.
func (d *Dir) Watch(ctx context.Context, name string, deep bool, ready func(), each func(yurt.FileEvent) error) error {
	w := watch{name: name, ready: ready, each: each}
	for {
		w.watches = false
		err := d.do(ctx, request{Op: opWatch, Path: name, Flag: deep}, exchange{to: w.take})
		if !w.watches || !errors.Is(err, errLeft) || ctx.Err() != nil {
			return err
		}
		w.ready = func() {}
		w.lost = true
	}
}

// watch is the caller's end of a watch.
type watch struct {
	name    string
	ready   func()
	each    func(yurt.FileEvent) error
	watches bool // the present server does
	lost    bool // an earlier server ended
}

// take takes one message of the server.
func (w *watch) take(data []byte) error {
	if len(data) == 0 {
		w.watches = true
		w.ready()
		if w.lost {
			return w.each(yurt.FileEvent{Type: yurt.FileEventLost, Path: w.name, IsDir: true})
		}
		return nil
	}
	var e yurt.FileEvent
	if err := packet.Decode(data, &e); err != nil {
		return err
	}
	return w.each(e)
}

// MakePipe is [workspace.Dir.MakePipe].
func (d *Dir) MakePipe(name string) error {
	return d.do(context.Background(), request{Op: opMakePipe, Path: name}, exchange{again: func() error { return d.RemoveAll(name) }})
}

// OpenPipe is [workspace.Dir.OpenPipe].
func (d *Dir) OpenPipe(name string) (*os.File, error) {
	file, err := d.file(request{Op: opOpenPipe, Path: name}, nil, fs.ModeNamedPipe)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return workspace.Unpolled(file)
}

// Listen is [workspace.Dir.Listen].
func (d *Dir) Listen(name string, backlog int) (net.Listener, error) {
	file, err := d.file(request{Op: opListen, Path: name, Entries: backlog}, nil, fs.ModeSocket)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", name, err)
	}
	return listener, nil
}

// file asks for a file of a type. The caller closes it.
func (d *Dir) file(r request, value any, of fs.FileMode) (*os.File, error) {
	var file *os.File
	if err := d.do(context.Background(), r, exchange{value: value, file: &file, again: same}); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().Type() != of {
		err = fmt.Errorf("the process that serves files answers with a file of the type %s to a request %q", info.Mode().Type(), r.Op)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
