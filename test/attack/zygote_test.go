package attack

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// forkOf is Python that stops unless it runs in a fork of the interpreter that waits in the
// sandbox. Those before it are in the name zygotes.
const forkOf = `
import os, sys
if 'zygote.py' not in open('/proc/self/cmdline').read(): sys.exit(3)
def alive(pid):
    try: os.kill(pid, 0)
    except OSError: return False
    return True
zygotes = [pid for pid in range(2, os.getpid()) if alive(pid)]
`

// asFork runs code by the zygote of the sandbox, as code runs once its session has used Python.
func (a *arena) asFork(t *testing.T, sandbox, code string) *yurt.Result {
	t.Helper()
	for begun := time.Now(); ; {
		spec := program("")
		spec.Kind, spec.Command, spec.Language, spec.Code = yurt.KindCode, nil, "python", forkOf+code
		if r := a.execute(t, sandbox, spec); r.ExitCode != 3 {
			return r
		}
		if time.Since(begun) > testutil.Moment(t, 2*time.Minute) {
			t.Fatal("no run was forked from a zygote")
		}
	}
}

// TestZygote has runs attack the interpreter that they were forked from, and that those after them
// will be forked from. Each affects only itself.
func TestZygote(t *testing.T) {
	a := newArena(t)
	sandbox := a.create(t, func(*yurt.SandboxSpec) {})
	for _, attack := range []struct{ name, code string }{
		{"tracing it and reading its memory", `
import ctypes
libc = ctypes.CDLL(None)
for pid in zygotes + [os.getppid()]:
    for request in (16, 0x4206): # PTRACE_ATTACH, PTRACE_SEIZE
        if libc.ptrace(request, pid, 0, 0) == 0: print('traced')
    for name, flags in (('mem', os.O_RDWR), ('environ', os.O_RDONLY), ('maps', os.O_RDONLY), ('fd', os.O_RDONLY), ('root', os.O_RDONLY), ('clear_refs', os.O_WRONLY), ('oom_score_adj', os.O_WRONLY)):
        try: print('opened', name, os.open(f'/proc/{pid}/{name}', flags))
        except OSError: pass
`},
		{"descriptors that it left", `
left = [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 3 and os.path.exists(f'/proc/self/fd/{fd}')]
if left: print({fd: os.readlink(f'/proc/self/fd/{fd}') for fd in left})
import socket
for line in open('/proc/net/unix').read().splitlines()[1:]:
    for name in line.split()[7:]:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            try: print('connected', name, socket.socket(socket.AF_UNIX, kind).connect(name.replace('@', '\0')))
            except OSError: pass
`},
		{"memory that is shared with it", `
shared = [line for line in open('/proc/self/maps') if 's' in line.split()[1] and 'w' in line.split()[1]]
if shared: print(shared)
`},
		{"its files", `
import shutil
here = [part for part in open('/proc/self/cmdline').read().split('\0') if part.endswith('zygote.py')][0]
for name in os.listdir(os.path.dirname(here)) + ['new.py']:
    try: print('wrote', os.open(os.path.join(os.path.dirname(here), name), os.O_WRONLY | os.O_CREAT))
    except OSError: pass
`},
		{"what a later run would import", `
import builtins, json, importlib
builtins.poisoned = json.poisoned = importlib.poisoned = sys.poisoned = True
sys.modules['base64'] = json
sys.path.insert(0, '/workspace')
os.environ['PYTHONSTARTUP'] = os.environ['LD_PRELOAD'] = '/workspace/evil.py'
for name in ('sitecustomize', 'usercustomize', 'encodings', 'zygote', 'fork', 'shared', 'harness'):
    open(f'/workspace/{name}.py', 'w').write('print("poisoned")')
import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)
`},
		{"ending it", `
import signal
for pid in zygotes: os.kill(pid, signal.SIGKILL)
`},
	} {
		t.Run(attack.name, func(t *testing.T) {
			held(t, a.asFork(t, sandbox, attack.code+"\nprint('held')"))
			held(t, a.asFork(t, sandbox, `
import builtins, json, importlib, base64, signal
if any(hasattr(m, 'poisoned') for m in (builtins, json, importlib, sys)) or base64 is json: print('poisoned')
if 'LD_PRELOAD' in os.environ or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL: print('inherited')
print('held')`))
			a.works(t, "the sandbox", sandbox)
			a.works(t, "the bystander", a.bystander)
		})
	}
}
