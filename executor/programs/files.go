package programs

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// StartFiles implements [Requests].
func (l *Local) StartFiles() (Program, error) {
	l.filesMu.Lock()
	defer l.filesMu.Unlock()
	l.endFiles()
	starter, err := l.open()
	if err != nil {
		return Program{}, err
	}
	file, err := os.Open(l.config.Files)
	if err != nil {
		return Program{}, fmt.Errorf("starting the process that serves files: %w", err)
	}
	defer file.Close()
	ours, theirs, err := packet.Pair("files")
	if err != nil {
		return Program{}, err
	}
	defer ours.Close()
	defer theirs.Close()
	words, stderr, err := os.Pipe()
	if err != nil {
		return Program{}, fmt.Errorf("making a pipe for a program: %w", err)
	}
	defer stderr.Close()
	cmd := &exec.Cmd{Args: []string{confine.FileServer}, Env: []string{"GOMEMLIMIT=192MiB"}, Dir: "/", ExtraFiles: []*os.File{theirs}, Stderr: stderr}
	release, err := starter.StartFileServer(cmd, file)
	if err != nil {
		return Program{}, errors.Join(err, words.Close())
	}
	program, err := l.enlist(cmd, release, nil) // many sandboxes depend on it, as on this process
	if err != nil {
		return Program{}, errors.Join(err, words.Close())
	}
	l.files = program.ID
	stderr.Close()
	theirs.Close() // so that the end of the process shows
	socket, err := begin(program.PID, ours)
	if err != nil {
		l.endFiles()
		return Program{}, errors.Join(err, said(words), words.Close())
	}
	program.Files = []*os.File{socket, words}
	return program, nil
}

// maxWords bounds the last words of a process, in bytes.
const maxWords = 2 << 10

// said is the words of a process that has ended, as an error.
func said(words io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(words, maxWords))
	if len(text) > 0 {
		err = fmt.Errorf("it says: %q", text)
	}
	return err
}

// begin waits until the process serves, checks its power, and returns the socket to it.
func begin(pid int, socket *net.UnixConn) (*os.File, error) {
	if err := files.AwaitReady(socket); err != nil {
		return nil, err
	}
	if err := confine.CheckFileServer(pid); err != nil { // its number is its own until it is waited for, and an ended process has no capabilities
		return nil, err
	}
	return socket.File()
}

// endFiles ends the present process that serves files, if there is one. The caller has its lock.
func (l *Local) endFiles() {
	if l.files == 0 {
		return
	}
	l.mu.Lock()
	r := l.running[l.files]
	l.mu.Unlock()
	l.files = 0
	if r != nil {
		_ = r.cmd.Process.Kill() // it may have ended
		<-r.ended
	}
}
