package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// SpawnCommand is the argument by which the plugin's program is told to start an executor
// and to end.
const SpawnCommand = "start-executor"

// maxLog is the size at which the executor's log is put aside when one is started.
const maxLog = 64 << 20

// order is the standard input of [Spawn].
type order struct {
	Argv []string `json:"argv"`
	Log  string   `json:"log"`
}

// spawned is an executor that was started.
type spawned struct {
	PID int `json:"pid"`
}

// ended says so if the process is gone.
func (s spawned) ended() error {
	if err := unix.Kill(s.PID, 0); errors.Is(err, unix.ESRCH) {
		return errEnded
	}
	return nil
}

// spawn starts an executor by a process in between, so that it is no descendant of this one, and in no cgroup of Nomad's client,
// which may be stopped with its cgroups.
func (n *Executor) spawn(ctx context.Context) (spawned, error) {
	argv, err := n.config.ExecutorArgs()
	if err != nil {
		return spawned{}, err
	}
	input, err := json.Marshal(order{Argv: argv, Log: n.config.LogPath()})
	if err != nil {
		return spawned{}, fmt.Errorf("starting the executor: %w", err)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", SpawnCommand)
	cmd.Env = []string{"PATH=" + defaultPath}
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return spawned{}, yurt.Errorf(yurt.CodeUnavailable, "starting the executor: %w: %s", err, strings.TrimSpace(said.String()))
	}
	var child spawned
	if err := json.Unmarshal(out, &child); err != nil {
		return spawned{}, fmt.Errorf("starting the executor: %w", err)
	}
	return child, nil
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Spawn starts the executor that standard input names, and prints its process id. The program does this when it is called with
// [SpawnCommand].
func Spawn(stdin io.Reader, stdout io.Writer) error {
	var o order
	if err := json.NewDecoder(stdin).Decode(&o); err != nil {
		return fmt.Errorf("reading what to start: %w", err)
	}
	if len(o.Argv) == 0 {
		return errors.New("there is nothing to start")
	}
	log, err := openLog(o.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := leaveCgroups(); err != nil {
		fmt.Fprintln(log, "the executor stays in the cgroups of Nomad's client:", err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("starting the executor: %w", err)
	}
	defer null.Close()
	process, err := os.StartProcess(o.Argv[0], o.Argv, &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=" + defaultPath}, Files: []*os.File{null, log, log}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("starting the executor: %w", err)
	}
	return json.NewEncoder(stdout).Encode(spawned{PID: process.Pid})
}

// openLog opens the executor's log, which is put aside once it is large. The directory is the executor's, which could put another file of
// root's in its place.
func openLog(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("putting the executor's log aside: %w", err)
		}
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the executor's log: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(log.Fd()), &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink > 1 || int(stat.Uid) != os.Geteuid() {
		return nil, errors.Join(fmt.Errorf("%s is not a plain file of this user's alone; remove it", path), err, log.Close())
	}
	return log, nil
}

// leaveCgroups moves this process to the root of each cgroup hierarchy, so that its children are born there.
func leaveCgroups() error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	var failed error
	for _, root := range roots {
		if _, err := os.Stat(filepath.Join(root, "cgroup.type")); err == nil {
			// The root of a container, which hands controllers on only while it is empty itself.
			root = filepath.Join(root, "yurt-node")
			if err := os.MkdirAll(root, 0o755); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
		}
		failed = errors.Join(failed, os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0))
	}
	return failed
}

// cgroupRoots are the mounts of all hierarchies.
func cgroupRoots() ([]string, error) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking for cgroups: %w", err)
	}
	defer mounts.Close()
	var roots []string
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if ok && len(fields) >= 5 && strings.HasPrefix(after, "cgroup") && fields[3] == "/" {
			roots = append(roots, fields[4])
		}
	}
	return roots, lines.Err()
}
