package sockets

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd/objects"
)

// MaxNetlink is how many sockets of netlink a sandbox may have. Each can hold some 250 KiB
// that no cgroup is charged for.
const MaxNetlink = 16

// MaxOwners is how often processes of a sandbox may say, in all its time, which process is told of a file's signals, or by which signal. The
// kernel holds 64 bytes for each file of which that was said, and charges them to no cgroup.
const MaxOwners = 64 << 10

// patience is how long callers wait for another socket to be closed, when there are as many as
// there may be: programs need one of netlink for a moment, to ask for addresses.
const (
	patience = 200 * time.Millisecond
	pause    = 2 * time.Millisecond
)

// Keeper makes the calls that are handed over.
type Keeper struct {
	calls   *os.File
	fd      uintptr // of calls
	netlink *register
	made    *register // of TCP
	listens *register

	forNetlink, forTCP room
	namespace          *namespace // that counts those of TCP; nil if it is not the sandbox's alone

	locks, events *objects.Budget
	owners        int // the rest of MaxOwners
}

// counter counts sockets of a kind.
type counter interface{ count() (int, error) }

// New returns a keeper of the calls that come by the descriptor, which is its own from then on. ownNetwork is that of [Setting], and
// proc a /proc with all processes of the sandbox.
func New(fd int, ownNetwork bool, proc *os.File) (*Keeper, error) {
	netlink, err := newRegister()
	if err != nil {
		return nil, err
	}
	made, err := newRegister()
	if err != nil {
		return nil, err
	}
	listens, err := newRegister()
	if err != nil {
		return nil, err
	}
	events, err := objects.Events(proc)
	if err != nil {
		return nil, err
	}
	_, _, _ = syscall.Syscall(unix.SYS_IOCTL, uintptr(fd), setFlags, wakeHere) // an older kernel is slower
	// Not blocking, so that Go's own poller waits, and no thread does.
	k := &Keeper{
		calls: os.NewFile(uintptr(fd), "calls"), fd: uintptr(fd), netlink: netlink, made: made, listens: listens,
		forNetlink: room{counter: netlink, most: MaxNetlink}, forTCP: room{counter: made, most: MaxTCP}, locks: objects.Locks(proc), events: events, owners: MaxOwners,
	}
	if ownNetwork {
		k.namespace = &namespace{calls: make(map[uint32]struct{})}
		k.forTCP.counter = k.namespace
	}
	return k, nil
}

// call is struct seccomp_notif.
type call struct {
	id     uint64
	thread uint32
	_      uint32
	number int32
	_      uint32
	_      uint64
	args   [6]uint64
}

// reply is struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// handed is struct seccomp_notif_addfd.
type handed struct {
	id       uint64
	flags    uint32
	source   uint32
	_        uint32
	newFlags uint32
}

// Requests of ioctl(2) of the file of calls, which [seccomp] allows.
const (
	receiveCall = 0xc0502100
	sendReply   = 0xc0182101
	isCallValid = 0x40082102
	handFile    = 0x40182103
	handAndSend = 1 << 1 // of handFile: the number of the descriptor is the reply; of Linux 5.14
	setFlags    = 0x40082104
	wakeHere    = 1 // of setFlags: the caller's processor makes the call, without a wait for another one; of Linux 6.6
)

// Serve makes the calls, one at a time, until no process is left that could make one. It waits on a thread of its own: Go's poller would
// take longer to tell of a call than most calls take. The thread takes no signals, and ends with Serve: one that interrupts it while it
// hands over a socket has the kernel answer the caller with descriptor 0.
func (k *Keeper) Serve() error {
	runtime.LockOSThread() // and never unlocks
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
		return fmt.Errorf("blocking signals: %w", err)
	}
	for {
		var c call
		switch err := ask(k.fd, receiveCall, unsafe.Pointer(&c)); {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINTR):
			continue // the caller died meanwhile
		case err != nil:
			return fmt.Errorf("receiving a call: %w", err)
		}
		k.make(&c)
	}
}

// make makes the call. A reply to a caller that died fails, which does no harm.
func (k *Keeper) make(c *call) {
	switch c.number {
	case unix.SYS_SOCKET:
		if domain := uint32(c.args[0]); domain == unix.AF_NETLINK { // the kernel takes 32 bits
			k.makeSocket(c, k.netlink, &k.forNetlink)
		} else {
			k.makeSocket(c, k.made, &k.forTCP)
		}
	case unix.SYS_CONNECT:
		k.letConnect(c)
	case unix.SYS_LISTEN:
		k.answer(c, k.listen(c))
	case unix.SYS_FCNTL:
		k.letControl(c)
	case unix.SYS_FLOCK:
		k.letLock(c, c.args[1]&unix.LOCK_UN != 0)
	default:
		if !slices.Contains(makesEvents(), uint32(c.number)) {
			k.answer(c, unix.ENOSYS)
			return
		}
		k.letWithin(c, k.events)
	}
}

func (k *Keeper) answer(c *call, err error) {
	r := reply{id: c.id}
	if err != nil {
		errno := syscall.EIO
		errors.As(err, &errno)
		r.errno = -int32(errno)
	}
	_ = ask(k.fd, sendReply, unsafe.Pointer(&r))
}

// letConnect lets the kernel go on with the call. It is no matter which socket the call is for by then: it connects one at most.
func (k *Keeper) letConnect(c *call) {
	delete(k.namespace.calls, c.thread) // its last one has returned
	if err := k.forTCP.await(); err != nil {
		k.answer(c, err)
		return
	}
	k.namespace.calls[c.thread] = struct{}{}
	k.goOn(c)
}

// letLock lets the kernel go on with a call that locks a file. The budget counts calls, whatever file each is for.
func (k *Keeper) letLock(c *call, unlocks bool) {
	if unlocks {
		k.goOn(c)
		return
	}
	k.letWithin(c, k.locks)
}

// letWithin lets the kernel go on with a call that makes an object, if there is room for one.
func (k *Keeper) letWithin(c *call, b *objects.Budget) {
	if err := b.Take(); err != nil {
		k.answer(c, err)
		return
	}
	k.goOn(c)
}

// letControl lets the kernel go on with a call of fcntl(2), which locks or says which process is told of signals.
func (k *Keeper) letControl(c *call) {
	switch uint32(c.args[1]) {
	case unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG:
		if k.owners == 0 {
			k.answer(c, unix.ENOMEM)
			return
		}
		k.owners--
		k.goOn(c)
	default:
		k.letLock(c, false)
	}
}

// goOn lets the kernel make the call.
func (k *Keeper) goOn(c *call) {
	r := reply{id: c.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_ = ask(k.fd, sendReply, unsafe.Pointer(&r))
}

// makeSocket makes a socket if there is room, enters it in the register, and hands it to the caller.
func (k *Keeper) makeSocket(c *call, r *register, space *room) {
	if err := space.await(); err != nil {
		k.answer(c, err)
		return
	}
	kind := int(uint32(c.args[1]))
	fd, err := unix.Socket(int(uint32(c.args[0])), kind|unix.SOCK_CLOEXEC, int(uint32(c.args[2])))
	if err != nil {
		k.answer(c, err)
		return
	}
	defer unix.Close(fd)
	if err := r.add(fd, 1); err != nil {
		k.answer(c, err)
		return
	}
	h := handed{id: c.id, flags: handAndSend, source: uint32(fd), newFlags: uint32(kind & unix.SOCK_CLOEXEC)}
	if err := ask(k.fd, handFile, unsafe.Pointer(&h)); err != nil {
		k.answer(c, err) // it is not there in the caller, or cannot be, as with EMFILE
	}
}

// room is how many sockets of a kind there may be.
type room struct {
	counter

	most int
	full time.Time // since when there have been as many as there may be; zero if one was let through last
}

// await returns when there may be one more socket. It waits for as long as there has been no room for less than [patience]: calls are
// made one after the other, so a program that goes on in spite of refusals holds up the others of its sandbox once.
func (r *room) await() error {
	for ; ; time.Sleep(pause) {
		n, err := r.count()
		switch {
		case err != nil:
			return err
		case n < r.most:
			r.full = time.Time{}
			return nil
		case r.full.IsZero():
			r.full = time.Now()
		case time.Since(r.full) >= patience:
			return unix.ENOBUFS
		}
	}
}

// ask makes a request of the file of calls.
func ask(fd uintptr, request uintptr, argument unsafe.Pointer) error {
	_, _, errno := syscall.Syscall(unix.SYS_IOCTL, fd, request, uintptr(argument))
	if errno != 0 {
		return errno
	}
	return nil
}
