package attack

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestLayers attack the barrier between an execution and its sandbox, where each has namespaces of
// its own.
func TestLayers(t *testing.T) {
	wage(t, layerAttacks())
}

// layerAttacks attack the second layer.
func layerAttacks() []attack {
	layered := func(s *yurt.SandboxSpec) { s.Template.Isolation.PerExecution = true }
	return []attack{
		{
			name:    "the keeper",
			fails:   "it is root of the sandbox, not dumpable, without capabilities, and deaf to signals of its own namespace",
			layer:   byIdentity,
			sandbox: layered,
			program: `
refused('ptrace', 16, 1, 0, 0)
refused('ptrace', 0x4206, 1, 0, 0)
keeper = syscall('pidfd_open', 1, 0)
if keeper >= 0:
    for fd in range(64): refused('pidfd_getfd', keeper, fd, 0)
for number in range(1, 65):
    if number != signal.SIGCONT: fails(number, lambda: os.kill(1, number))   # which any process of the session may send, and does nothing
for name in ('mem', 'maps', 'fd', 'root', 'environ', 'exe', 'ns'): fails(name, lambda: os.stat('/proc/1/' + name))
if [p for p in os.listdir('/proc') if p.isdigit() and int(p) < os.getpid()]: got('another process')
`,
		},
		{
			name:    "mounts and namespaces below the layer",
			fails:   "the command has no capability, and is under the list, which denies the calls that init needs for the layer",
			layer:   byFilter,
			sandbox: layered,
			program: `
refused('mount', b'x', b'/tmp', b'tmpfs', 0, 0)
refused('mount', b'proc', b'/proc', b'proc', 0, 0)
refused('umount2', b'/proc', 2)
refused('umount2', b'/tmp', 2)
for flag in (0x20000, 0x8000000, 0x10000000, 0x20000000): refused('unshare', flag)
args = struct.pack('11Q', 0x20000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
if syscall('clone3', args, len(args)) != -errno.ENOSYS: got('clone3')
for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger'):
    if os.path.exists(path) and os.stat(path).st_rdev == os.makedev(1, 3): continue
    fails(path, lambda: write(path, 'x'))
for path in ('/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/kallsyms', '/proc/modules'):
    try: text = open(path, 'rb').read(100)
    except OSError: continue
    if text: got(path, text)
`,
		},
		{
			name:    "a forged end",
			fails:   "how a command ended is told by its keeper, through a pipe that the command has not",
			layer:   byInit,
			sandbox: layered,
			program: `
import struct as s
for fd in range(3, 256):
    try: os.write(fd, s.pack('I', 0))
    except OSError: pass
os.kill(os.getpid(), signal.SIGSEGV)
`,
			check: func(t *testing.T, r *yurt.Result) {
				t.Helper()
				if r.ExitCode != 139 {
					t.Errorf("it was ended by signal 11 and exited with %d", r.ExitCode)
				}
			},
		},
		{
			name:    "fork bomb in a layer",
			fails:   "processes are limited, and on timeout the whole cgroup is killed, the keeper with it",
			layer:   byCgroup,
			sandbox: layered,
			program: `
while True:
    try: os.fork(); os.setsid()
    except OSError: pass
`,
			run: within(2e9), check: ends(yurt.ErrorTypeTimeout),
		},
	}
}
