package sockets

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MaxTCP is how many sockets of TCP a sandbox may have where they are bounded, those included that it accepted, and those that
// it has closed and that still have data to send. Each can hold some 20 to 70 KiB
// beyond the bound of all buffers.
//
// It has room for all connections that may wait to be accepted, with both of their ends.
const MaxTCP = 384

// namespace counts the sockets of TCP in the sandbox's own network namespace. The kernel counts a socket there until it frees it.
//
// A connection on the loopback interface takes one call for each of its ends: the first makes a socket, the second connects it. So
// both calls are a gate. A call that connects the kernel goes on with by itself, so the gate counts each such call as a socket until
// it has returned: code could have many under way before the first of them is done. All that the gate does not see are connections
// under way without a call, of sockets that do not block. There are at most as many as sockets.
type namespace struct {
	calls map[uint32]struct{} // the threads that were let through, and may not have returned
}

// count returns at least the number of sockets of TCP.
func (n *namespace) count() (int, error) {
	all, err := socketsInUse()
	if err != nil || all+len(n.calls) < MaxTCP {
		return all + len(n.calls), err
	}
	n.forget()
	others, err := otherSockets()
	if err != nil {
		return 0, err
	}
	after, err := socketsInUse()
	if err != nil {
		return 0, err
	}
	again, err := otherSockets()
	if err != nil {
		return 0, err
	}
	if others != again || all != after { // code could otherwise close the others between the two figures
		others = 0
	}
	return all - others + len(n.calls), nil
}

// forget takes out the threads whose calls have returned.
func (n *namespace) forget() {
	for thread := range n.calls {
		if !mayConnect(thread) {
			delete(n.calls, thread)
		}
	}
}

// mayConnect reports whether the thread can be in a call that connects. It can be anywhere while it runs.
func mayConnect(thread uint32) bool {
	data, err := os.ReadFile("/proc/" + strconv.FormatUint(uint64(thread), 10) + "/syscall")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false
	}
	number, _, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	return err != nil || number == "running" || number == strconv.Itoa(unix.SYS_CONNECT)
}

// socketsInUse returns the number of all sockets in the network namespace.
func socketsInUse() (int, error) {
	const path, label = "/proc/self/net/sockstat", "sockets: used "
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("counting sockets: %w", err)
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	figure, ok := bytes.CutPrefix(line, []byte(label))
	number, err := strconv.Atoi(string(figure))
	if !ok || err != nil {
		return 0, fmt.Errorf("counting sockets: %s begins with %q, and not with %q and a number", path, line, label)
	}
	return number, nil
}

// otherSockets returns the number of those of Unix and UDP among them.
func otherSockets() (sum int, err error) {
	const path = "/proc/self/net/protocols"
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("counting sockets: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return 0, fmt.Errorf("counting sockets: a line of %s is %q", path, line)
		}
		switch fields[0] {
		case "UNIX", "UNIX-STREAM", "UDP", "UDPv6":
			number, err := strconv.Atoi(fields[2])
			if err != nil {
				return 0, fmt.Errorf("counting sockets: a line of %s is %q", path, line)
			}
			sum += number
		}
	}
	return sum, nil
}
