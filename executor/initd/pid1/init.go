package pid1

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd/sockets"
)

// options are the descriptors that the host hands over, as flags.
type options struct {
	listen int // the listening socket
	filter int // the compiled seccomp filter
	homes  int // the first of the cgroup files of the thread that forks
	nhomes int
	own    setting
	mounts mounts
	limits []limit  // of this process and all others
	write  []string // directories that user code may write to
	device []string // devices that it may use, beside those that every sandbox has
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("yurt-init", flag.ContinueOnError)
	flags.IntVar(&o.listen, "listen-fd", -1, "descriptor of the listening socket")
	flags.IntVar(&o.filter, "filter-fd", -1, "descriptor of the seccomp filter")
	flags.IntVar(&o.homes, "homes-fd", -1, "first descriptor of the cgroup files")
	flags.IntVar(&o.nhomes, "homes", 0, "number of cgroup files")
	flags.Func("write", "directory that user code may write to; may be repeated", func(path string) error {
		o.write = append(o.write, path)
		return nil
	})
	flags.Func("device", "device that user code may use; may be repeated", func(path string) error {
		o.device = append(o.device, path)
		return nil
	})
	limits := func(list *[]limit) func(text string) error {
		return func(text string) error {
			l, err := parseLimit(text)
			*list = append(*list, l)
			return err
		}
	}
	flags.Func("rlimit", "RESOURCE=VALUE of setrlimit(2) for all processes; may be repeated", limits(&o.limits))
	flags.Func("limit", "RESOURCE=VALUE of setrlimit(2) for user code; may be repeated", limits(&o.own.limits))
	flags.Func("own", "PATH=OPTIONS of a file system in memory that each process gets for itself; may be repeated", func(text string) error {
		path, options, _ := strings.Cut(text, "=")
		o.own.ownFiles = append(o.own.ownFiles, ownFiles{path, options})
		return nil
	})
	o.mounts.flags(flags)
	flags.BoolVar(&o.own.ownNetwork, "own-network", false, "the network namespace is the sandbox's alone")
	flags.BoolVar(&o.own.layered, "layer", false, "give each process namespaces of its own")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if o.listen < 0 || o.filter < 0 {
		return options{}, errors.New("yurt-init is started by Yurt, as the first process of a sandbox; it is no command to run by hand")
	}
	return o, nil
}

// memoryGoal is the heap size that the garbage collector aims for, in bytes: well below the limit of the cgroup, which
// counts the kernel's memory too.
const memoryGoal = 80 << 20

// Run is the life of yurt-init. It returns only when it cannot go on.
func Run(ctx context.Context, args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	if err := setLimits(o.limits); err != nil {
		return err
	}
	debug.SetMemoryLimit(memoryGoal)
	// No descriptor that init was given may reach a child.
	for fd := 3; fd < max(o.listen, o.filter, o.homes+o.nhomes-1)+1; fd++ {
		syscall.CloseOnExec(fd)
	}
	homes := make([]*os.File, o.nhomes)
	for i := range homes {
		homes[i] = os.NewFile(uintptr(o.homes+i), "cgroup")
	}
	view, err := o.mounts.make()
	if err != nil {
		return err
	}
	o.own.view = view
	if err := standardSignals(); err != nil {
		return err
	}
	filter := os.NewFile(uintptr(o.filter), "filter")
	defer filter.Close()
	program, err := readFilter(filter)
	if err != nil {
		return err
	}
	forker, err := o.newForker(homes, program) // before the filter is loaded: it drops capabilities for good
	if err != nil {
		return err
	}
	if err := roam(); err != nil {
		return err
	}
	if err := harden(allowing(program, forker.needs()...)); err != nil {
		return err
	}
	keeper, err := keepSockets(forker, o.mounts.processes)
	if err != nil {
		return err
	}
	listener, err := net.FileListener(os.NewFile(uintptr(o.listen), "listen"))
	if err != nil {
		return fmt.Errorf("taking over the socket: %w", err)
	}
	defer listener.Close()
	go func() {
		if err := keeper.Serve(); err != nil { // without it code would wait for its calls
			fmt.Fprintln(os.Stderr, "yurt-init:", err)
			listener.Close()
		}
	}()
	table := newTable(forker)
	go reap(ctx, table)
	return serve(listener, table)
}

// keepSockets has calls of code handed over that its list does not let it make alone.
func keepSockets(f *forker, processes *os.File) (*sockets.Keeper, error) {
	calls, err := f.handOver()
	if err != nil {
		return nil, err
	}
	return sockets.New(calls, f.setting.ownNetwork, processes)
}

// newForker makes the forker, in the setting that the options and this kernel make.
func (o options) newForker(homes []*os.File, program []byte) (_ *forker, err error) {
	s := o.own
	if s.layered {
		if s.covers, err = coversOfProc(); err != nil {
			return nil, err
		}
	}
	if s.landlock, err = newLandlock(o.write, o.device); err != nil {
		return nil, err
	}
	if s.layered || len(homes) == 0 {
		s.filter = sockFprog(program)
	}
	return newForker(homes, s)
}

// roam lets all threads, and so their children, run on any processor. Until then the launcher has kept them on one.
func roam() error {
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err == nil && now.Count() > 1 {
		return nil // the launcher did not pin them
	}
	var every [1024]byte // more processors than Linux knows; the kernel leaves out those that are not there
	for i := range every {
		every[i] = 0xff
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(every), uintptr(unsafe.Pointer(&every))); errno != 0 {
		return fmt.Errorf("leaving the processor: %w", errno)
	}
	return nil
}

// reap waits for every child, ours and those that were orphaned to us.
func reap(ctx context.Context, t *table) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	for {
		for t.reap() {
		}
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
	}
}
