package pid1

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd"
)

// On cgroup v2 a fork of a zygote cannot enter its run's cgroup itself, as the sandbox's user may not write there.
// Moving a running process waits for a lock of the whole kernel, often for 10 ms. So init moves it ahead of its run:
// at that time the number that is written surely belongs to a process of the sandbox.

// place moves the process that would serve the zygote's next request into the cgroup whose
// cgroup.procs came along.
func (t *table) place(req initd.PlaceRequest, files []*os.File) error {
	if len(files) != 1 {
		return refusal(initd.ReasonBadRequest, fmt.Errorf("%d cgroups came along; a process is in one", len(files)))
	}
	z, err := t.find(req.Zygote)
	if err != nil || z.zygote == nil {
		return refusal(initd.ReasonNoFork, fmt.Errorf("there is no zygote %s", req.Zygote))
	}
	z.zygote.places.Lock()
	defer z.zygote.places.Unlock()
	pid, err := z.zygote.spare()
	if err == nil && pid == z.pid {
		err = errors.New("it has no process to spare")
	}
	if err != nil {
		return refusal(initd.ReasonNoFork, fmt.Errorf("asking a zygote for a process: %w", err))
	}
	return t.move(pid, files[0])
}

// spare asks which process would serve the next request, and returns its number, by the
// kernel's word.
func (z *zygote) spare() (pid int, err error) {
	z.asked++
	question := "p" + strconv.FormatUint(z.asked, 10)
	if err := z.send([]byte(question), nil); err != nil {
		return 0, err
	}
	if err := z.conn.SetReadDeadline(time.Now().Add(forkPatience)); err != nil {
		return 0, err
	}
	var word [32]byte
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for {
		n, oobn, _, _, err := z.conn.ReadMsgUnix(word[:], oob)
		if err != nil {
			return 0, err
		}
		if string(word[:n]) == question { // and not a late answer to an earlier one
			return senderOf(oob[:oobn])
		}
	}
}

// move moves a child that is in no table. The lock is not held meanwhile, and so the number
// can come to be another's of the sandbox: that is an error, and the cgroup is not to be used.
func (t *table) move(pid int, procs *os.File) error {
	process, err := t.openChild(pid)
	if err != nil {
		return err
	}
	defer unix.Close(process)
	if _, err := procs.WriteString(strconv.Itoa(pid)); err != nil {
		return refusal(initd.ReasonCgroup, fmt.Errorf("moving process %d: %w", pid, err))
	}
	if err := unix.PidfdSendSignal(process, 0, nil, 0); err != nil {
		return refusal(initd.ReasonNoFork, fmt.Errorf("process %d ended as it was moved: %w", pid, err))
	}
	return nil
}

// openChild returns a descriptor of a child that a zygote forked.
func (t *table) openChild(pid int) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPID[pid] != nil {
		return 0, refusal(initd.ReasonNoFork, fmt.Errorf("process %d is another's", pid))
	}
	if err := isChild(pid); err != nil {
		return 0, err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, refusal(initd.ReasonNoFork, fmt.Errorf("opening process %d: %w", pid, err))
	}
	return fd, nil
}

// checkPlace returns an error unless the process is alone in its run's cgroup.
func checkPlace(leaves []*os.File, pid int) error {
	if len(leaves) != 1 {
		return errors.New("a run needs one cgroup")
	}
	fd, err := unix.Openat(int(leaves[0].Fd()), "cgroup.procs", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("looking into a cgroup: %w", err)
	}
	defer unix.Close(fd)
	var list [64]byte
	n, err := unix.Read(fd, list[:])
	if err != nil {
		return fmt.Errorf("looking into a cgroup: %w", err)
	}
	if inside := string(list[:n]); inside != strconv.Itoa(pid)+"\n" {
		return fmt.Errorf("process %d is not the one in its cgroup: %q", pid, inside)
	}
	return nil
}
