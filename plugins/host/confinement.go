package host

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/power"
	"github.com/yurtrun/yurt/plugins/binary"
)

// Confinement starts runtimes without power over this host.
type Confinement interface {
	// StartRuntime starts the runtime of that name in the host's plugin directory. A host that cannot confine it has an error of [yurt.Error].
	StartRuntime(request binary.Request) (binary.Program, error)
}

// WithConfinement sets how runtimes are started. Without it a process that has power over its host, such as root, starts no runtime.
func WithConfinement(c Confinement) Option { return func(o *options) { o.confinement = c } }

// newProcess readies the process of a runtime, confined where that is possible.
func (h *Host) newProcess(name, path string) (*process, error) {
	level := h.log.GetLevel().String()
	if h.opts.confinement != nil {
		return newConfinedProcess(h.opts.confinement, binary.Request{Name: name, LogLevel: level}), nil
	}
	if power.Held() {
		return nil, yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s is not started: this process has power over the host, and no way to start a runtime without it", name)
	}
	h.log.Warn("the runtime has all rights of this user; start Yurt as root to have it confined", "runtime", name)
	program, err := binary.Open(path, name, h.opts.checksums)
	if err != nil {
		return nil, diagnoseExec(name, err)
	}
	return newPlainProcess(h.starter, program, name, binary.CommonEnv(level))
}

// PluginToHost implements [runner.Runner]. The socket of a confined runtime is in its directory, and nowhere else: the host has power that
// the runtime has not, and connects to no other socket for it.
func (p *process) PluginToHost(network, addr string) (hostNetwork, hostAddr string, err error) {
	if p.confinement == nil {
		return network, addr, nil
	}
	name := path.Base(addr)
	if network != "unix" || addr != path.Join(binary.Dir, name) {
		return "", "", &protocolError{"listens at " + strconv.Quote(network+" "+addr) + ", which is not in its directory " + binary.Dir}
	}
	fd, err := unix.Openat(int(p.confined.Dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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
