//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	// Device rules of cgroups are a part of their own, which libcontainer needs.
	_ "github.com/opencontainers/cgroups/devices"
	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// passed are the descriptors of a create request, in their order.
type passed struct{ listen, filter, stderr *os.File }

func unpack(req *launch.CreateRequest, files []*os.File) (passed, error) {
	if req.Spec == nil || req.Spec.Root == nil || req.Spec.Linux == nil || len(files) != 3 {
		return passed{}, errors.New("the request is not complete")
	}
	return passed{listen: files[0], filter: files[1], stderr: files[2]}, nil
}

// create makes one sandbox: its root file system, its namespaces and mounts, and
// yurt-init running in it, once its cgroups are there.
func (s *server) create(req *launch.CreateRequest, files []*os.File, born <-chan birth) (_ launch.Reply, err error) {
	began := time.Now()
	p, err := unpack(req, files)
	if err != nil {
		return launch.Reply{}, err
	}
	ground, err := s.prepare(req)
	if err != nil {
		return launch.Reply{}, err
	}
	defer func() { err = errors.Join(err, ground.drop()) }()
	deferMounts(req.Spec, req.Memory)
	joins := req.Spec.Linux.CgroupsPath == "" // the launcher makes no cgroups then, see isolate
	config, err := configure(req, joins, ground.users)
	if err != nil {
		return launch.Reply{}, err
	}
	container, err := libcontainer.Create(engineDir, req.ID, config)
	if err != nil {
		return launch.Reply{}, fmt.Errorf("preparing the sandbox: %w", err)
	}
	defer func() { tidy(req.ID, err == nil) }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return launch.Reply{}, fmt.Errorf("opening %s: %w", os.DevNull, err)
	}
	defer null.Close()
	prepared := time.Now()
	b := <-born
	defer b.close()
	if b.aborted || joins != (len(b.births) > 0) { // which would be without limits
		return launch.Reply{}, errors.New("there are no cgroups for the sandbox")
	}
	process, err := initProcess(req.Spec.Process, p, b.homes, null)
	if err != nil {
		return launch.Reply{}, err
	}
	started := time.Now()
	pid, err := s.start(container, process, b.births, req.ID)
	if err != nil {
		return launch.Reply{}, fmt.Errorf("starting the sandbox: %w", err)
	}
	return launch.Reply{PID: pid, Phases: map[string]float64{
		"configure": millis(prepared.Sub(began)),
		"namespace": millis(time.Since(started)),
	}}, nil
}

// ground is the mounts and namespaces that a new sandbox needs until it has its own.
type ground struct {
	users *os.File
	drops []func() error
}

// drop closes and unmounts all, the last first.
func (g *ground) drop() (err error) {
	for _, drop := range slices.Backward(g.drops) {
		err = errors.Join(err, drop())
	}
	return err
}

// prepare makes the ground of a sandbox, and names it in the specification.
func (s *server) prepare(req *launch.CreateRequest) (_ *ground, err error) {
	g := &ground{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.drop())
		}
	}()
	root, err := s.root(req)
	if err != nil {
		return nil, err
	}
	g.drops = append(g.drops, func() error { root.drop(); return nil })
	network, err := s.network(req.Network)
	if err != nil {
		return nil, err
	}
	g.drops = append(g.drops, network.Close)
	if err := joinNetwork(req.Spec, network); err != nil {
		return nil, err
	}
	if req.Network == "" {
		if err := showCounters(network, req.Spec.Linux); err != nil {
			return nil, err
		}
	}
	if g.users, err = userNamespace(req.Spec.Linux); err != nil {
		return nil, err
	}
	g.drops = append(g.drops, g.users.Close)
	drop, err := mountOwn(req, g.users)
	if err != nil {
		return nil, err
	}
	g.drops = append(g.drops, drop)
	return g, nil
}

// start starts the process of the sandbox in the cgroups, and returns its number when it
// becomes yurt-init.
func (s *server) start(container *libcontainer.Container, process *libcontainer.Process, births []*os.File, id string) (pid int, err error) {
	gate := newGate(filepath.Join(engineDir, id))
	defer gate.close()
	if err := runIn(births, func() error { return container.Start(process) }); err != nil {
		return 0, err
	}
	return s.reap(process, gate)
}

// engineDir is where libcontainer keeps its files of a sandbox: in memory, and seen by
// this process alone.
const engineDir = skeletonDir + "/.engine"

// tidyAfter is a pause in which a new sandbox has the machine to itself.
const tidyAfter = 25 * time.Millisecond

// tidy removes libcontainer's files of a sandbox, which are never read. It does so when init has had the time to
// start, or at once if there is no init, as another sandbox may get the same name.
func tidy(id string, made bool) {
	remove := func() { _ = os.RemoveAll(filepath.Join(engineDir, id)) }
	if made {
		time.AfterFunc(tidyAfter, remove)
		return
	}
	remove()
}

// configure returns libcontainer's configuration of a sandbox in the user namespace.
func configure(req *launch.CreateRequest, joins bool, users *os.File) (*configs.Config, error) {
	config, err := specconv.CreateLibcontainerConfig(&specconv.CreateOpts{CgroupName: req.ID, Spec: req.Spec, RootlessCgroups: joins})
	if err != nil {
		return nil, fmt.Errorf("configuring the sandbox: %w", err)
	}
	trim(config, joins)
	// Only now, since libcontainer would start a process in the namespace to read the ids that it has been told.
	config.Namespaces.Add(configs.NEWUSER, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), users.Fd()))
	return config, nil
}

// trim removes work that is done already, so that libcontainer does not repeat it for each sandbox: the devices are in
// the skeleton, and on cgroup v1 their rules are in force.
func trim(config *configs.Config, ruled bool) {
	config.Devices = nil
	if ruled {
		config.Cgroups.Resources.Devices = nil
	}
	// That it is bound keeps libcontainer from making devices in it.
	dev := &configs.Mount{Device: "bind", Source: filepath.Join(config.Rootfs, layout.DevDir), Destination: layout.DevDir, Flags: unix.MS_BIND | unix.MS_REC}
	config.Mounts = slices.Insert(config.Mounts, 0, dev)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// warnings is the log level of a process on its way into a sandbox; lines of lower levels would be sent, read and
// thrown away.
const warnings = "3"

func initProcess(spec *specs.Process, p passed, homes []*os.File, stdin *os.File) (*libcontainer.Process, error) {
	args := slices.Clone(spec.Args)
	for _, r := range spec.Rlimits {
		limit, err := rlimit(r)
		if err != nil {
			return nil, err
		}
		args = append(args, "-rlimit="+limit)
	}
	return &libcontainer.Process{
		Args:       append(args, fmt.Sprintf("-homes=%d", len(homes))),
		Env:        spec.Env,
		Cwd:        spec.Cwd,
		Stdin:      stdin,
		Stdout:     p.stderr,
		Stderr:     p.stderr,
		ExtraFiles: append([]*os.File{p.listen, p.filter}, homes...),
		// SELinux's label libcontainer takes from the specification, this it does not.
		AppArmorProfile: spec.ApparmorProfile,

		Init:     true,
		LogLevel: warnings,
	}, nil
}

// runIn runs do on a thread that is in the cgroups whose tasks files are given and whose timers have the slack. The
// processes that it starts are born in these cgroups and inherit the slack. The thread is not used again: it ends, and
// so leaves the cgroups. The main thread never ends, which is why main keeps it.
func runIn(tasks []*os.File, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			done <- errors.New("the main thread may not enter a sandbox's cgroups")
			return
		}
		for _, file := range tasks {
			if _, err := syscall.Write(int(file.Fd()), []byte("0")); err != nil {
				done <- fmt.Errorf("entering a cgroup: %w", err)
				return
			}
		}
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0, 0, 0); err != nil {
			done <- fmt.Errorf("setting the slack of timers: %w", err)
			return
		}
		done <- do()
	}()
	return <-done
}

// slack is how late timers may fire in a process on its way into a sandbox, and in yurt-init, which restores the
// kernel's usual 50 µs for processes. No timer there needs to be finer. The Go runtime, however, has a thread that
// checks the others every 20 µs in the first milliseconds of a process, and a create starts two processes: the slack
// keeps that thread from taking their time.
const slack = 2 * time.Millisecond
