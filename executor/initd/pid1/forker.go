package pid1

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/initd/sockets"
	"github.com/yurtrun/yurt/executor/procview"
)

// forker starts processes from one thread of its own. That thread has no capability
// left in its bounding set, so no child can have one. And every child is born in its
// run's cgroup, so that no instant exists in which it is outside its limits: on
// cgroup v1 the thread enters it first, on v2 the call that makes the child names it.
type forker struct {
	homes    []*os.File // v1: where the thread is between forks; those of leaves first
	setting  setting
	requests chan forkRequest
	handed   chan chan<- handedCalls // asks for it, once
}

// handedCalls is the descriptor by which calls of children come, or why there is none.
type handedCalls struct {
	fd  int
	err error
}

// setting holds the settings that all processes of the sandbox share.
type setting struct {
	limits   []limit
	landlock *landlock       // nil if the kernel has no landlock
	filter   *unix.SockFprog // for the children to load, where init's own allows more

	ownNetwork bool // see [sockets.Setting]

	layered  bool       // every process gets namespaces of its own,
	ownFiles []ownFiles // these file systems in them,
	covers   []string   // and a /proc where these parts of init's are covered

	view *procview.View // the files in the place of those of /proc; nil if none change
}

type forkRequest struct {
	start  initd.StartRequest
	stdio  []uintptr // descriptors 0 to 3 of the child
	leaves []*os.File
	reply  chan<- forkReply
}

type forkReply struct {
	child child
	err   error
}

// newForker starts the thread, which enters its homes and gives up its
// capabilities, or says why it could not.
func newForker(homes []*os.File, s setting) (*forker, error) {
	f := &forker{homes: homes, setting: s, requests: make(chan forkRequest), handed: make(chan chan<- handedCalls)}
	ready := make(chan error)
	go offMainThread(func() { f.run(ready) })
	if err := <-ready; err != nil {
		return nil, err
	}
	return f, nil
}

// offMainThread calls do on a thread that no other goroutine uses, then or later,
// and that is not the main one. The kernel takes the main thread for the process: in
// the cgroups of runs it would have init's memory charged to them, and init killed
// for want of memory in their stead.
func offMainThread(do func()) {
	runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
	if syscall.Gettid() != os.Getpid() {
		do()
		return
	}
	elsewhere := make(chan struct{})
	go offMainThread(func() { // not here, which is taken until that is on a thread of its own
		close(elsewhere)
		do()
	})
	<-elsewhere
	runtime.UnlockOSThread() // otherwise the runtime would keep an idle thread
}

func (f *forker) run(ready chan<- error) {
	if err := join(f.homes); err != nil {
		ready <- err
		return
	}
	if err := tightenTimers(); err != nil {
		ready <- err
		return
	}
	if err := f.setting.confine(); err != nil {
		ready <- err
		return
	}
	if err := unblockSignals(); err != nil { // of this thread, whose children inherit it
		ready <- err
		return
	}
	ready <- nil
	reply := <-f.handed // no process is forked before calls are handed over
	fd, err := sockets.Load(sockets.Setting{Loads: f.setting.filter != nil, BoundsTCP: !f.clones(), OwnNetwork: f.setting.ownNetwork})
	reply <- handedCalls{fd, err}
	for req := range f.requests {
		c, err := f.forkInto(req)
		req.reply <- forkReply{c, err}
	}
}

// handOver has the kernel hand over calls of children from then on, see [sockets]. The whole
// process must be under the filter by then, as it could not follow the thread.
func (f *forker) handOver() (int, error) {
	reply := make(chan handedCalls, 1)
	f.handed <- reply
	h := <-reply
	return h.fd, h.err
}

// fork starts the process, inside the cgroups that leaves stand for. Whether it
// becomes its command, the child tells.
func (f *forker) fork(start initd.StartRequest, stdio []uintptr, leaves []*os.File) (child, error) {
	reply := make(chan forkReply, 1)
	f.requests <- forkRequest{start, stdio, leaves, reply}
	r := <-reply
	return r.child, r.err
}

// clones reports whether children are born by clone3, as they are on v2.
func (f *forker) clones() bool { return len(f.homes) == 0 }

func (f *forker) forkInto(req forkRequest) (c child, err error) {
	path, err := lookPath(req.start)
	if err != nil {
		return child{}, err
	}
	if f.setting.view != nil {
		f.setting.view.Refresh()
	}
	b := &birth{}
	defer b.close()
	if c, err = f.prepare(b, path, req); err != nil {
		return child{}, forkError(req.start, err)
	}
	if f.clones() {
		err = b.start(&c)
	} else {
		err = f.startInside(b, &c, req.leaves)
	}
	if err != nil {
		closeAll(c.files())
		return child{}, forkError(req.start, err)
	}
	return c, nil
}

// startInside starts the process on cgroup v1.
func (f *forker) startInside(b *birth, c *child, leaves []*os.File) error {
	if len(leaves) > len(f.homes) {
		return refusal(initd.ReasonCgroup, errors.New("more cgroups than this sandbox has"))
	}
	defer func() {
		// A thread that cannot go home would keep the run's cgroup alive, and the
		// next run would be born in it: there is no going on from that.
		if err := join(f.homes[:len(leaves)]); err != nil {
			panic(err)
		}
	}()
	if err := join(leaves); err != nil {
		return refusal(initd.ReasonCgroup, err)
	}
	return b.start(c)
}

// prepare writes down the child's steps.
func (f *forker) prepare(b *birth, path string, req forkRequest) (c child, err error) {
	var cgroup *os.File
	if f.clones() {
		if len(req.leaves) != 1 {
			return child{}, refusal(initd.ReasonCgroup, errors.New("a run needs one cgroup"))
		}
		cgroup = req.leaves[0]
	}
	defer func() {
		if err != nil {
			closeAll(c.files())
		}
	}()
	switch {
	case f.setting.layered:
		if err := f.setting.addLayer(b, &c, cgroup); err != nil {
			return c, err
		}
	case cgroup != nil:
		b.clone = b.cloneInto(borrowed, cgroup)
	default:
		b.clone = clonePlain(borrowed)
	}
	return c, f.setting.addSteps(b, path, req)
}

// addSteps adds the steps that turn the child into the command. Until the change of identity the child is root of the
// sandbox, with init's few capabilities.
func (s *setting) addSteps(b *birth, path string, req forkRequest) error {
	b.lead(call(unix.SYS_SETSID))
	for i := range s.limits {
		b.add(call(unix.SYS_PRLIMIT64, 0, uintptr(s.limits[i].resource), pointer(b, &s.limits[i].value), 0))
	}
	b.add(
		call(unix.SYS_SETGROUPS, 0, 0),
		call(unix.SYS_SETGID, uintptr(req.start.GID)),
		call(unix.SYS_SETUID, uintptr(req.start.UID)),
	)
	given := len(b.owned)
	if err := b.takeFiles(req.stdio); err != nil {
		return err
	}
	if req.start.Terminal != nil { // that of descriptor 0, for the leader of the session
		b.lead(call(unix.SYS_IOCTL, b.owned[given].Fd(), unix.TIOCSCTTY, 0))
	}
	if b.layer != nil {
		b.add(b.layer.confine...)
	}
	// All others of init's are closed before the directory is looked for: a link to
	// /proc/self/fd would lead by that of a cgroup into the host's file system.
	b.add(closeOthers(uintptr(len(req.stdio)), b.fate)...)
	dir, err := b.text(req.start.Dir)
	if err != nil {
		return err
	}
	b.add(call(unix.SYS_CHDIR, dir))
	if s.filter != nil {
		b.add(call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, pointer(b, s.filter)))
	}
	return b.addCommand(path, req.start)
}

func (b *birth) addCommand(path string, start initd.StartRequest) error {
	name, err := b.text(path)
	if err != nil {
		return err
	}
	argv, err := b.texts(start.Argv)
	if err != nil {
		return err
	}
	env, err := b.texts(start.Env)
	if err != nil {
		return err
	}
	b.add(call(unix.SYS_EXECVE, name, argv, env))
	return nil
}

// needs are the calls that the list denies to user code and starting it takes.
func (f *forker) needs() []uint32 {
	switch {
	case f.setting.layered:
		return append(sockets.Calls(), unix.SYS_CLONE3, unix.SYS_MOUNT)
	case f.clones():
		return append(sockets.Calls(), unix.SYS_CLONE3)
	default:
		return sockets.Calls()
	}
}

// join moves the calling thread into the cgroups whose tasks files are given.
func join(tasks []*os.File) error {
	for _, file := range tasks {
		// The raw call, since the file's own Write may hand over to another thread.
		if _, err := syscall.Write(int(file.Fd()), []byte("0")); err != nil {
			return fmt.Errorf("entering a cgroup: %w", err)
		}
	}
	return nil
}

func forkError(start initd.StartRequest, err error) error {
	var failure *initd.Failure
	var f fault
	switch {
	case errors.As(err, &failure):
		return failure
	case !errors.As(err, &f):
	case f.call == unix.SYS_CHDIR:
		return refusal(initd.ReasonNoDir, fmt.Errorf("working directory %s: %w", start.Dir, f.errno))
	case f.call == unix.SYS_EXECVE:
		err = f.errno
		if slices.Contains([]syscall.Errno{syscall.ENOENT, syscall.EACCES, syscall.ENOEXEC, syscall.ENOTDIR}, f.errno) {
			return refusal(initd.ReasonNoCommand, fmt.Errorf("%s: %w", start.Argv[0], err))
		}
	case f.errno == syscall.EAGAIN: // of the birth of a command in a layer
		err = f.errno
	}
	return refusal(initd.ReasonFork, fmt.Errorf("starting %s: %w", start.Argv[0], err))
}

func refusal(reason string, err error) error {
	return &initd.Failure{Reason: reason, Message: err.Error()}
}
