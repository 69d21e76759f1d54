package pid1

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd"
)

// forker starts processes from one thread of its own. That thread has no capability
// left in its bounding set, so no child can have one. And every child is born in its
// run's cgroup, so that no instant exists in which it is outside its limits: on
// cgroup v1 the thread enters it first, on v2 the call that makes the child names it.
type forker struct {
	homes    []*os.File      // v1: where the thread is between forks; those of leaves first
	filter   *unix.SockFprog // v2: for the children to load, see birth
	requests chan forkRequest
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
func newForker(homes []*os.File, program []byte) (*forker, error) {
	f := &forker{homes: homes, filter: sockFprog(program), requests: make(chan forkRequest)}
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
	done := make(chan struct{})
	go func() { // not here, which is taken
		defer close(done)
		offMainThread(do)
	}()
	<-done
	runtime.UnlockOSThread()
}

func (f *forker) run(ready chan<- error) {
	if err := join(f.homes); err != nil {
		ready <- err
		return
	}
	if err := dropBounding(); err != nil {
		ready <- err
		return
	}
	if err := unblockSignals(); err != nil { // of this thread, whose children inherit it
		ready <- err
		return
	}
	ready <- nil
	for req := range f.requests {
		c, err := f.forkInto(req)
		req.reply <- forkReply{c, err}
	}
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
	attr := &syscall.ProcAttr{
		Dir: req.start.Dir, Env: req.start.Env, Files: req.stdio,
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Setctty:    req.start.Terminal != nil, // that of descriptor 0
			Credential: &syscall.Credential{Uid: req.start.UID, Gid: req.start.GID},
		},
	}
	if f.clones() {
		c, err = f.forkBorn(path, req, attr)
	} else {
		c.pid, err = f.forkInside(path, req, attr)
	}
	if err != nil {
		return child{}, forkError(req.start, err)
	}
	return c, nil
}

// forkInside starts the process on cgroup v1.
func (f *forker) forkInside(path string, req forkRequest, attr *syscall.ProcAttr) (int, error) {
	if len(req.leaves) > len(f.homes) {
		return 0, refusal(initd.ReasonCgroup, errors.New("more cgroups than this sandbox has"))
	}
	defer func() {
		// A thread that cannot go home would keep the run's cgroup alive, and the
		// next run would be born in it: there is no going on from that.
		if err := join(f.homes[:len(req.leaves)]); err != nil {
			panic(err)
		}
	}()
	if err := join(req.leaves); err != nil {
		return 0, refusal(initd.ReasonCgroup, err)
	}
	return syscall.ForkExec(path, req.start.Argv, attr)
}

// forkBorn starts the process on cgroup v2.
func (f *forker) forkBorn(path string, req forkRequest, attr *syscall.ProcAttr) (child, error) {
	if len(req.leaves) != 1 {
		return child{}, refusal(initd.ReasonCgroup, errors.New("a run needs one cgroup"))
	}
	attr.Sys.CgroupFD = int(req.leaves[0].Fd())
	b, err := newBirth(path, req.start.Argv, attr, f.filter)
	if err != nil {
		return child{}, err
	}
	defer b.close()
	return b.start()
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
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.ENOTDIR):
		if info, statErr := os.Stat(start.Dir); statErr != nil || !info.IsDir() {
			return refusal(initd.ReasonNoDir, fmt.Errorf("working directory %s: no such directory", start.Dir))
		}
		return refusal(initd.ReasonNoCommand, fmt.Errorf("%s: %w", start.Argv[0], err))
	default:
		return refusal(initd.ReasonFork, fmt.Errorf("starting %s: %w", start.Argv[0], err))
	}
}

func refusal(reason string, err error) error {
	return &initd.Failure{Reason: reason, Message: err.Error()}
}
