package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strconv"

	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/power"
)

// Confinement starts the process of a runtime without power over this host.
type Confinement interface {
	// Start starts cmd, with the open file as its program in place of cmd.Path. The result dir is the one directory that the process
	// may write to, and sees as /tmp. The process dies with this one. The caller waits for cmd, and then calls release, which
	// says whether the process ended for want of memory. A host that cannot confine it has an error of [yurt.Error].
	Start(cmd *exec.Cmd, program *os.File) (dir *os.File, release func() error, err error)
}

// WithConfinement sets how runtimes are started. Without it a process that has power over its host, such as root, starts no runtime.
func WithConfinement(c Confinement) Option { return func(o *options) { o.confinement = c } }

// confinedDir is where a confined process sees its directory.
const confinedDir = "/tmp"

// confinedEnv is what a confined runtime gets beside the environment of all: where it listens, and from which amount of memory
// on a program of Go works harder to need less.
func confinedEnv() []string {
	return []string{plugin.EnvUnixSocketDir + "=" + confinedDir, "GOMEMLIMIT=192MiB"}
}

// checkConfined refuses to start a runtime with power over this host.
func (h *Host) checkConfined(name string, program *os.File) error {
	if h.opts.confinement == nil {
		if power.Held() {
			return yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s is not started: this process has power over the host, and no way to start a runtime without it", name)
		}
		h.log.Warn("the runtime has all rights of this user; start Yurt as root to have it confined", "runtime", name)
		return nil
	}
	info, err := program.Stat()
	if err == nil && info.Mode().Perm()&0o001 == 0 {
		err = fmt.Errorf("%s may be executed by its owner alone (mode %#o), and a runtime runs as a user of its own; run chmod o+rx on it", program.Name(), info.Mode().Perm())
	}
	if err != nil {
		return yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s is not started: %w", name, err)
	}
	return nil
}

// PluginToHost implements [runner.Runner]. The socket of a confined runtime is in its directory, and nowhere else: the host has power that
// the runtime has not, and connects to no other socket for it.
func (p *process) PluginToHost(network, addr string) (hostNetwork, hostAddr string, err error) {
	if p.dir == nil {
		return network, addr, nil
	}
	name := path.Base(addr)
	if network != "unix" || addr != path.Join(confinedDir, name) {
		return "", "", &protocolError{"listens at " + strconv.Quote(network+" "+addr) + ", which is not in its directory " + confinedDir}
	}
	fd, err := unix.Openat(int(p.dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", "", &protocolError{"does not listen at " + strconv.Quote(addr) + ", as it says: " + err.Error()}
	}
	socket := os.NewFile(uintptr(fd), addr)
	info, err := socket.Stat()
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return "", "", errors.Join(&protocolError{"names " + strconv.Quote(addr) + ", which is not a socket"}, err, socket.Close())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.socket = socket
	return network, fmt.Sprintf("/proc/self/fd/%d", fd), nil
}
