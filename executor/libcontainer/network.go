//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// networks makes network namespaces, each with a loopback interface that is up. Some are made ahead, since making one
// takes a part of the time of a create.
//
// They belong to the host's user namespace and not to a sandbox's, so that no process in a sandbox, its root included,
// has any capability over its own network namespace.
type networks struct {
	spare chan *os.File
}

// spareNetworks is how many are kept, for as many creates at once.
const spareNetworks = 4

func newNetworks() *networks { return &networks{make(chan *os.File, spareNetworks)} }

// take returns a namespace for its caller alone. It lasts while the file is open or a process is in it.
func (n *networks) take() (*os.File, error) {
	select {
	case file := <-n.spare:
		return file, nil
	default:
		return newNetwork()
	}
}

// refill makes one for a later create, unless there are enough. It drops an error: the create will run into the same
// error and report it.
func (n *networks) refill() {
	if len(n.spare) == cap(n.spare) {
		return
	}
	file, err := newNetwork()
	if err != nil {
		return
	}
	select {
	case n.spare <- file:
	default: // others were faster
		file.Close()
	}
}

// newNetwork makes a namespace on a thread that ends with it, since the others are to
// stay in the host's.
func newNetwork() (file *os.File, err error) {
	lockedthread.Run(func() { file, err = enterNetwork() })
	return file, err
}

// enterNetwork puts the calling thread into a new namespace.
func enterNetwork() (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	if err := raiseLoopback(); err != nil {
		return nil, err
	}
	if err := boundSockets(); err != nil {
		return nil, err
	}
	if err := hideCounters(); err != nil {
		return nil, err
	}
	file, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	return file, nil
}

// bounds are settings of a sandbox's network namespace, by their paths below /proc/sys/net. They bound the memory that the kernel
// holds for its sockets and charges to no cgroup: a connection that is not accepted holds as much as its buffer, and a closed one
// remains for a minute.
func bounds() map[string]string {
	return map[string]string{
		"ipv4/tcp_rmem":            "4096 32768 32768",
		"ipv4/tcp_wmem":            "4096 16384 262144",
		"ipv4/tcp_max_tw_buckets":  "1024",
		"ipv4/tcp_max_syn_backlog": "64",
		"ipv4/tcp_fastopen":        "0", // or a socket could be connected by other calls than connect, which yurt-init bounds
		"core/somaxconn":           "64",
		"core/optmem_max":          "20480", // of the namespace since Linux 6.9, and of the host before
	}
}

// boundSockets sets the bounds of the network namespace that the calling thread is in.
func boundSockets() error {
	for name, value := range bounds() {
		fd, err := unix.Open("/proc/sys/net/"+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // a kernel that has it for the host alone
		}
		if err == nil {
			_, err = unix.Write(fd, []byte(value))
			err = errors.Join(err, unix.Close(fd))
		}
		if err != nil {
			return fmt.Errorf("setting net/%s of a network namespace: %w", name, err)
		}
	}
	return nil
}

// counters returns the files of /proc/net that have figures of the whole host, whatever namespace they are in: memory and number of
// sockets, packets by processor, entries of tables that all namespaces share.
func counters() []string {
	return []string{"protocols", "rt_acct", "sockstat", "softnet_stat", "stat"}
}

// hideCounters lets the host's root alone read the counters of the network namespace that the calling thread is in. They are below
// the directory of each process, where no mount can cover them.
func hideCounters() error {
	for _, name := range counters() {
		path := "/proc/thread-self/net/" + name
		if err := os.Chmod(path, 0o400); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("hiding net/%s of a network namespace: %w", name, err)
		}
	}
	return nil
}

// showCounters lets the sandbox's root, and so yurt-init alone, read the figures by which it bounds sockets on cgroup v1.
func showCounters(network *os.File, linux *specs.Linux) (err error) {
	if linux.CgroupsPath != "" { // which is version 2
		return nil
	}
	lockedthread.Run(func() {
		if err = unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		for _, name := range []string{"protocols", "sockstat"} {
			err = errors.Join(err, os.Chown("/proc/thread-self/net/"+name, int(linux.UIDMappings[0].HostID), -1))
		}
	})
	if err != nil {
		return fmt.Errorf("showing the counters of a network namespace to yurt-init: %w", err)
	}
	return nil
}

func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("naming the loopback interface: %w", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bringing up the loopback interface: %w", err)
	}
	return nil
}

// joinNetwork has the sandbox join the namespace, where it asks for one of its own.
// The file must stay open until it has.
func joinNetwork(spec *specs.Spec, file *os.File) error {
	i := slices.IndexFunc(spec.Linux.Namespaces, func(ns specs.LinuxNamespace) bool {
		return ns.Type == specs.NetworkNamespace && ns.Path == ""
	})
	if i < 0 {
		return errors.New("the request is not for a network namespace of its own")
	}
	spec.Linux.Namespaces[i].Path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
	return nil
}
