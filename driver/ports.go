package driver

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// firstPort is the setting of a network namespace that says which ports need a capability, which
// no task has: all below it.
const firstPort = "/proc/sys/net/ipv4/ip_unprivileged_port_start"

// openPorts lets the tasks in a group's network use every port, as those of Docker may: the network belongs to them alone. path
// is its namespace. The node's own network is left as it is, under any path.
func openPorts(path string) error {
	group, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the group's network: %w", err)
	}
	defer group.Close()
	if same, err := isOwnNetwork(group); same || err != nil {
		return err
	}
	lockedthread.Run(func() {
		if err = unix.Setns(int(group.Fd()), unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("entering the group's network: %w", err)
			return
		}
		err = os.WriteFile(firstPort, []byte("0"), 0)
	})
	return err
}

// isOwnNetwork reports whether the namespace is the one that this process is in.
func isOwnNetwork(namespace *os.File) (bool, error) {
	var own, other unix.Stat_t
	if err := unix.Stat("/proc/self/ns/net", &own); err != nil {
		return false, fmt.Errorf("looking at the node's network: %w", err)
	}
	if err := unix.Fstat(int(namespace.Fd()), &other); err != nil {
		return false, fmt.Errorf("looking at the group's network: %w", err)
	}
	return own.Dev == other.Dev && own.Ino == other.Ino, nil
}
