package attack

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestSiblings has one execution attack another of its sandbox, which waits at a terminal. Where
// each has a layer of its own it must reach no process of the other's, since it has no number for
// them; and in any case it cannot type into the other's terminal, since that takes being in the
// terminal's session, or a capability.
func TestSiblings(t *testing.T) {
	a := newArena(t)
	for name, layered := range map[string]bool{"with a layer": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			sandbox := a.create(t, func(s *yurt.SandboxSpec) { s.Template.Isolation.PerExecution = layered })
			victim := program("import tty; tty.setraw(0)\nprint('ready', flush=True)\nprint('read', os.read(0, 100), flush=True)")
			victim.Terminal = &yurt.TerminalSize{Rows: 24, Cols: 80}
			if err := a.StartExecution(t.Context(), sandbox, victim); err != nil {
				t.Fatal(err)
			}
			waitFor(t, a, sandbox, victim.ID, "ready")
			held(t, a.execute(t, sandbox, program(typing)))
			if layered {
				held(t, a.execute(t, sandbox, program(reaching)))
			}
			if err := a.WriteStdin(t.Context(), sandbox, victim.ID, []byte("typed"), false); err != nil {
				t.Fatal(err)
			}
			r, err := a.WaitExecution(t.Context(), sandbox, victim.ID)
			if err != nil || r.ExitCode != 0 || !strings.Contains(r.Stdout, "read b'typed'") {
				t.Errorf("the other execution: %v, %+v", err, r)
			}
		})
	}
}

const (
	// typing is by TIOCSTI, with the terminal as it is and as one's own.
	typing = `
import fcntl
terminals = [n for n in os.listdir('/dev/pts') if n != 'ptmx']
if not terminals: got('no terminal to attack')
def attempt():
    os.setsid()
    for n in terminals:
        fd = os.open('/dev/pts/' + n, os.O_RDWR | os.O_NOCTTY)
        for request, argument in ((0x5412, b'f'), (0x541c, b'\x02'), (0x540e, 0), (0x540e, 1), (0x5412, b'f')): # TIOCSTI, TIOCLINUX, TIOCSCTTY
            fails((n, hex(request)), lambda: fcntl.ioctl(fd, request, argument))
in_child(attempt)
`
	reaching = `
own = {os.getpid()}
for pid in range(1, 2000):
    if pid in own: continue
    fails(pid, lambda: os.kill(pid, 0))
    fails(pid, lambda: os.kill(pid, signal.SIGKILL))
    fails(pid, lambda: os.kill(-pid, signal.SIGKILL)) if pid > 1 else None
    for request in (16, 0x4206):                       # attach, seize
        if syscall('ptrace', request, pid, 0, 0) >= 0: got(pid, 'is traced')
    fails(pid, lambda: os.listdir(f'/proc/{pid}/fd'))
    if pid > 1: fails(pid, lambda: os.pidfd_open(pid))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
fails('everybody', lambda: os.kill(-1, signal.SIGKILL))
`
)
