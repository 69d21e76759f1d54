//go:build linux && cgo && seccomp

package libcontainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/opencontainers/runc/libcontainer"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/sysmon"
	"github.com/yurtrun/yurt/internal/linux/pidfd"
)

// maxFiles bounds the descriptors of one request; the kernel takes no more than 253.
const maxFiles = 64

// Serve answers the executor's requests until it goes away. initBin is the
// yurt-init that sandboxes get; transient ones are killed at the end.
func Serve(initBin string, transient bool) error {
	syscall.CloseOnExec(launch.ControlFD)
	syscall.CloseOnExec(launch.SelfFD)
	syscall.CloseOnExec(launch.LockFD)
	conn, err := net.FileConn(os.NewFile(launch.ControlFD, "control"))
	if err != nil {
		return fmt.Errorf("yurt-launcher is started by Yurt; it is no command to run by hand: %w", err)
	}
	if err := isolate(); err != nil {
		return err
	}
	// libcontainer hands it on to the processes that become sandboxes, which have one
	// thing to do at a time; this one has read it already.
	if err := os.Setenv("GOMAXPROCS", "1"); err != nil {
		return err
	}
	if err := sysmon.Slacken(); err != nil {
		return err
	}
	s := &server{conn: conn.(*net.UnixConn), networks: newNetworks(), births: newBirths(), inits: make(map[*pidfd.File]struct{})}
	if s.skeletons, err = newSkeletons(initBin); err != nil {
		return err
	}
	err = s.serve()
	if transient {
		s.killAll()
	}
	return err
}

// isolate makes this process's mount namespace follow the host's, and not the other way round. On cgroup v1 it makes
// the tree for devices, and an empty v2 tree beside it, read-only in the namespace, and unmounts the others: the
// executor has done libcontainer's work there already, and moving a process by its number waits for a lock of the
// whole kernel. libcontainer insists on devices, and looks for its own place in each mounted tree, for each sandbox.
// Where the controllers are on v2, libcontainer has to write to the v2 tree, even if the host has v1 trees besides.
func isolate() error {
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("separating from the host's mounts: %w", err)
	}
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return fmt.Errorf("reading mounts: %w", err)
	}
	v1 := slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool { // as executor/cgroup tells it
		return m.FSType == "cgroup" && m.Root == "/" && controls(m, "memory")
	})
	for _, m := range mounts {
		switch {
		case m.FSType == "cgroup2" && !v1:
		case m.FSType == "cgroup" && v1 && !controls(m, "devices"):
			if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH); err != nil {
				return fmt.Errorf("taking away %s: %w", m.Mountpoint, err)
			}
		default:
			flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY)
			if err := unix.Mount("", m.Mountpoint, "", flags, ""); err != nil {
				return fmt.Errorf("making %s read-only: %w", m.Mountpoint, err)
			}
		}
	}
	return nil
}

// controls reports whether the mount is of the controller's v1 tree.
func controls(m *mountinfo.Info, controller string) bool {
	return slices.Contains(strings.Split(m.VFSOptions, ","), controller)
}

// server holds the connection to the executor and the parts that all sandboxes share.
type server struct {
	conn      *net.UnixConn
	skeletons *skeletons
	networks  *networks
	births    *births

	mu    sync.Mutex
	inits map[*pidfd.File]struct{} // that run
}

// reap waits for a sandbox's init in the background, and returns init's number on the host when it has passed the
// gate. The executor notices init's end by itself. The launcher keeps only the process: libcontainer's own handle,
// with its configuration, takes many times the memory.
func (s *server) reap(init *libcontainer.Process, gate *gate) (pid int, err error) {
	if pid, err = init.Pid(); err != nil {
		return 0, err
	}
	process, err := pidfd.Open(pid)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.inits[process] = struct{}{}
	s.mu.Unlock()
	go func() {
		defer process.Close()
		_ = process.Wait() // takes no thread; Reap would hold one all the while
		_ = process.Reap() // its status is of no use: only the executor ends init in an orderly way
		s.mu.Lock()
		delete(s.inits, process)
		s.mu.Unlock()
	}()
	return pid, gate.pass(process)
}

// killAll ends every sandbox; with its init the kernel ends the rest of it.
func (s *server) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for init := range s.inits {
		_ = init.Kill() // it may be gone already
	}
}

func (s *server) serve() error {
	data := make([]byte, launch.MaxMessage)
	oob := make([]byte, syscall.CmsgSpace(maxFiles*4))
	for {
		n, oobn, _, _, err := s.conn.ReadMsgUnix(data, oob)
		if errors.Is(err, io.EOF) {
			return nil // the executor is gone, and with it the reason to be here
		}
		if err != nil {
			return fmt.Errorf("waiting for a request: %w", err)
		}
		files, err := receivedFiles(oob[:oobn])
		if err != nil {
			return err
		}
		var req launch.Request
		if err := json.Unmarshal(data[:n], &req); err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if err := s.take(req, files); err != nil {
			return err
		}
	}
}

// take begins the work of a request.
func (s *server) take(req launch.Request, files []*os.File) error {
	switch {
	case req.Birth != nil:
		born, err := unpackBirth(req.Birth, files)
		s.births.deliver(req.ID, born)
		return err
	case req.Create != nil: // of which the birth may be the next message
		born := s.births.expect(req.ID)
		go func() {
			defer s.births.done(req.ID, born)
			s.handle(req, files, born)
		}()
	default:
		go s.handle(req, files, nil)
	}
	return nil
}

func receivedFiles(oob []byte) ([]*os.File, error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("reading descriptors: %w", err)
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return nil, fmt.Errorf("reading descriptors: %w", err)
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}

// handle answers the request, and then prepares for the next.
func (s *server) handle(req launch.Request, files []*os.File, born <-chan birth) {
	reply, err := s.answer(req, files, born)
	closeAll(files)
	if err != nil {
		reply = launch.Reply{Error: err.Error()}
	}
	reply.ID = req.ID
	if data, err := json.Marshal(reply); err == nil {
		_, _ = s.conn.Write(data) // fails only when the executor is gone, which ends serve
	}
	if req.Create != nil {
		time.Sleep(tidyAfter)
		s.networks.refill()
	}
}

func (s *server) answer(req launch.Request, files []*os.File, born <-chan birth) (reply launch.Reply, err error) {
	switch {
	case req.Create != nil:
		return s.create(req.Create, files, born)
	case req.Filter != nil:
		reply.Filter, err = compileFilter(req.Filter.Groups)
		return reply, err
	default:
		return reply, errors.New("unknown request")
	}
}
