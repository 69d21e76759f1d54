package pid1

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd"
)

// A zygote is a process that has run no user code and forks for each run; plugins/zygote.go defines its protocol. init
// does not trust its answers: the kernel proves by the sender's number that a process is the run's, and wait proves
// that it is now a child of init. So a compromised zygote could at worst pass off an orphan of the sandbox's user as a
// run.

// forkPatience bounds how long a zygote may take to answer. After that, as with a stopped zygote or on a busy machine,
// init starts the process in the ordinary way.
const forkPatience = 2 * time.Second

// zygote is init's side of one.
type zygote struct {
	conn *net.UnixConn
	mu   sync.Mutex // held to send

	places sync.Mutex // held to ask for a process and move it
	asked  uint64     // how often that was done
}

// openZygote gives the child its end of the socket as descriptor 3.
func (p *process) openZygote(child *childFiles) error {
	conn, theirs, err := packetPair()
	if err != nil {
		return err
	}
	child.files = append(child.files, theirs)
	p.zygote = &zygote{conn: conn}
	return nil
}

// packetPair makes a pair of connected packet sockets. Our end receives the sender's credentials with each packet.
func packetPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making sockets: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer ours.Close()
	err = unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making sockets: %w", err), theirs.Close())
	}
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making sockets: %w", err), theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil
}

// ask asks for a run, whose process then speaks on the line.
func (z *zygote) ask(req initd.StartRequest, files []*os.File) error {
	control := "0"
	if req.HasControl {
		control = "1"
	}
	fields := append([]string{control, req.Dir, strconv.Itoa(len(req.Argv))}, req.Argv...)
	packet := strings.Join(append(fields, req.Env...), "\x00")
	if strings.Count(packet, "\x00") != len(fields)+len(req.Env)-1 {
		return errors.New("a zero byte in an argument")
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return z.send([]byte(packet), syscall.UnixRights(fds...))
}

func (z *zygote) send(packet, oob []byte) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	if err := z.conn.SetWriteDeadline(time.Now().Add(forkPatience)); err != nil {
		return err
	}
	_, _, err := z.conn.WriteMsgUnix(packet, oob, nil)
	return err
}

// forkFrom lets a zygote fork the process. When it fails, no code of the user has run.
func (t *table) forkFrom(p *process, req initd.StartRequest, stdio *childFiles, leaves []*os.File) error {
	z, err := t.find(req.From)
	if err != nil || z.zygote == nil {
		return refusal(initd.ReasonNoFork, fmt.Errorf("there is no zygote %s", req.From))
	}
	if t.forker.setting.layered {
		return refusal(initd.ReasonNoFork, errors.New("processes of this sandbox are born where no zygote can put them"))
	}
	enters := leaves
	if t.forker.clones() { // it is in its cgroup already, see place
		enters = nil
	}
	line, theirs, err := packetPair()
	if err != nil {
		return refusal(initd.ReasonNoFork, err)
	}
	defer line.Close() // at which a child that was not told to go exits
	files := append(append([]*os.File{theirs}, stdio.files...), enters...)
	err = z.zygote.ask(req, files)
	theirs.Close()
	if err != nil {
		return refusal(initd.ReasonNoFork, fmt.Errorf("asking for a fork: %w", err))
	}
	pid, err := awaitOrphan(line, z.pid)
	if err != nil {
		return refusal(initd.ReasonNoFork, fmt.Errorf("waiting for a fork: %w", err))
	}
	if t.forker.clones() {
		if err := checkPlace(leaves, pid); err != nil {
			return refusal(initd.ReasonNoFork, err)
		}
	}
	if err := t.adopt(p, pid); err != nil {
		return err
	}
	_, _ = line.Write([]byte("g")) // if it is dead, its status says so
	return nil
}

// awaitOrphan returns the number of the process that is ready on the line, once the zygote
// has said that it is an orphan.
func awaitOrphan(line *net.UnixConn, zygote int) (pid int, err error) {
	if err := line.SetReadDeadline(time.Now().Add(forkPatience)); err != nil {
		return 0, err
	}
	var word [8]byte
	oob := make([]byte, syscall.CmsgSpace(syscall.SizeofUcred))
	for orphaned := false; pid == 0 || !orphaned; {
		n, oobn, _, _, err := line.ReadMsgUnix(word[:], oob)
		if err != nil {
			return 0, err
		}
		sender, err := senderOf(oob[:oobn])
		if err != nil {
			return 0, err
		}
		switch said := string(word[:n]); {
		case said == "o" && sender == zygote:
			orphaned = true
		case said == "r" && sender != zygote:
			pid = sender
		default:
			return 0, fmt.Errorf("it said %q", said)
		}
	}
	return pid, nil
}

// senderOf returns the number of the process that sent a packet, by the kernel's word.
func senderOf(oob []byte) (int, error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return 0, errors.New("the line ended")
	}
	sender, err := syscall.ParseUnixCredentials(&messages[0])
	if err != nil {
		return 0, fmt.Errorf("looking at a sender: %w", err)
	}
	return int(sender.Pid), nil
}

// adopt makes a child that a zygote forked a process of the table.
func (t *table) adopt(p *process, pid int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.admits(p.id); err != nil {
		return err
	}
	if t.byPID[pid] != nil {
		return refusal(initd.ReasonNoFork, fmt.Errorf("process %d is another's", pid))
	}
	if err := isChild(pid); err != nil {
		return err
	}
	t.enter(p, child{pid: pid})
	return nil
}

// isChild returns an error unless the process is our child. The caller holds the table's lock, so no process is reaped
// meanwhile: an ended child is still there.
func isChild(pid int) error {
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		return refusal(initd.ReasonNoFork, fmt.Errorf("process %d is no child: %w", pid, err))
	}
	return nil
}
