package attack

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

//go:embed quiet.py
var quiet string

// TestSilence has a sandbox record all that it can read while its neighbours and the host work or rest. No recorded value may
// differ. Channels of timing, of sysinfo(2) and of the page cache are in docs/SECURITY.md.
func TestSilence(t *testing.T) { overhear(t, 10*time.Second) }

// overhear records for so long, of which neighbours and host work for the second half.
func overhear(t *testing.T, d time.Duration) {
	t.Helper()
	a := newArena(t)
	listener := a.create(t, func(s *yurt.SandboxSpec) { s.Resources.PIDs = 128 })
	spec := program(quiet + fmt.Sprintf(`
print('recording', flush=True)
n = watch(%f)
if n < 200: got('no more than', n, 'files')
`, d.Seconds()))
	spec.Timeout = yurt.Duration(d + testutil.Moment(t, time.Minute))
	if err := a.StartExecution(t.Context(), listener, spec); err != nil {
		t.Fatal(err)
	}
	waitFor(t, a, listener, spec.ID, "recording\n")
	time.Sleep(d / 2)
	a.work(t, d/2)
	r, err := a.WaitExecution(t.Context(), listener, spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(r.Stdout) {
		if strings.HasPrefix(line, "got ") {
			t.Errorf("not silent: %.500s", line)
		}
	}
	if !strings.HasSuffix(r.Stdout, "held\n") {
		t.Errorf("it ended with %d, %q, %q", r.ExitCode, r.Stdout, r.Stderr)
	}
}

// work makes sandboxes, runs programs in them and on the host, opens sockets, files and terminals, for so long.
func (a *arena) work(t *testing.T, d time.Duration) {
	t.Helper()
	neighbour := a.create(t, func(*yurt.SandboxSpec) {})
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		held(t, a.execute(t, neighbour, program(`
import pty
pairs = [socket.socketpair() for _ in range(50)]
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen()
client = socket.create_connection(server.getsockname()); client.send(bytes(100000))
master, slave = pty.openpty()
open('/workspace/file', 'wb').write(bytes(4 << 20)); os.sync()
files = [open('/workspace/%d' % n, 'w') for n in range(200)]
for _ in range(20): in_child(lambda: None)
`)))
		file := t.TempDir() + "/file"
		if err := os.WriteFile(file, make([]byte, 4<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sync "+file+"; ls -R /usr/include > /dev/null; python3 -c pass").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := a.DestroySandbox(t.Context(), neighbour); err != nil {
		t.Error(err)
	}
}

// TestBootID: each sandbox has a boot id of its own, which is not the host's.
func TestBootID(t *testing.T) {
	a := newArena(t)
	const path = "/proc/sys/kernel/random/boot_id"
	host, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{string(host): "the host"}
	for name, sandbox := range map[string]string{"the one": a.bystander, "the other": a.create(t, func(*yurt.SandboxSpec) {})} {
		r := a.execute(t, sandbox, shell("cat "+path+" "+path))
		half := r.Stdout[:len(r.Stdout)/2]
		if len(half) != len(host) || r.Stdout != half+half {
			t.Errorf("%s reads %q as its boot id, twice", name, r.Stdout)
		}
		if other := seen[half]; other != "" {
			t.Errorf("%s has the boot id of %s", name, other)
		}
		seen[half] = name
	}
}

// TestMeasures: programs that read the measures of a machine go on to do so, and find the sandbox's limits.
func TestMeasures(t *testing.T) {
	a := newArena(t)
	held(t, a.execute(t, a.bystander, program(`
lines = dict(line.split(':') for line in open('/proc/meminfo'))
if lines['MemTotal'].split() != [str(128 << 10), 'kB']: got('memory', lines['MemTotal'])
if lines['Dirty'].split() != ['0', 'kB']: got('pages', lines['Dirty'])
with open('/proc/stat') as f: text = f.read()
cpus = sum(line.startswith('cpu') and line[3].isdigit() for line in text.splitlines())
if cpus != len([1 for line in open('/proc/cpuinfo') if line.startswith('processor')]): got('processors', cpus)
boot = int(next(line for line in text.splitlines() if line.startswith('btime')).split()[1])
if not 0 <= time.time() - boot < 300: got('boot', boot, time.time())
if open('/proc/loadavg').read() != '0.00 0.00 0.00 1/1 1\n': got('load')
up, idle = open('/proc/uptime').read().split()
if abs(float(up) - time.clock_gettime(time.CLOCK_BOOTTIME)) > 5 or idle != '0.00': got('uptime', up, idle)
for path in ('meminfo', 'stat', 'uptime', 'loadavg', 'cpuinfo', 'sys/kernel/random/boot_id'):
    fails(path, lambda: os.open('/proc/' + path, os.O_WRONLY))
    fails(path, lambda: os.chmod('/proc/' + path, 0o666))
    fails(path, lambda: os.unlink('/proc/' + path))
for args in (['ps', 'aux'], ['free'], ['uptime'], ['nproc'], ['top', '-b', '-n1'], ['vmstat']):
    r = subprocess.run(args, capture_output=True)
    if r.returncode or r.stderr or not r.stdout: got(args, r)
`)))
	r := a.execute(t, a.bystander, command("/usr/bin/env", "node", "-e", "const os = require('os'); console.log(os.cpus().length > 0, os.loadavg(), os.totalmem() > 0, os.uptime() < 300)"))
	if want := "true [ 0, 0, 0 ] true true\n"; r.Stdout != want {
		t.Errorf("node prints %q, %q; want %q", r.Stdout, r.Stderr, want)
	}
}
