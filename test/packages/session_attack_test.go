package packages

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// flood attacks the socket of its session with connections without end. They send no byte, half a
// request, a line that never ends, or requests that are refused.
const flood = `
import socket, threading, time
end, made, lines = time.time() + 4, [0], [b"", b'{"manager":', b"x" * (1 << 21), b'{"manager":"pip","packages":["../x"]}\n', b'{"manager":"pip","packages":["humanize==4.9.0"]}\n']

def attack(line, stay):
    while time.time() < end:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(1)
        try:
            s.connect("/run/yurt/packages.sock")
            made[0] += 1
            s.sendall(line)
            if stay:
                s.recv(100)
        except OSError:
            pass
        s.close()

threads = [threading.Thread(target=attack, args=(line, stay)) for line in lines for stay in (False, True)]
for t in threads: t.start()
for t in threads: t.join()
print(made[0] < 400, made[0])
`

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestSocketIsFlooded: a session that floods its socket costs the node little, does not delay
// other sessions, and can install again afterwards.
func TestSocketIsFlooded(t *testing.T) {
	e := node(t)
	bad, other := makeSession(t, e, several()), makeSession(t, e, several())
	wantLast(t, "at first", run(t, e, other, shell("pip install -q humanize==4.9.0 && echo on")), "on")
	third := makeSession(t, e, several())
	run(t, e, third, shell("sleep 0.3"))
	before, begun := processorTime(t), time.Now()
	id := begin(t, e, bad, yurt.ExecutionSpec{Language: "python", Code: flood})
	time.Sleep(time.Second)
	at := time.Now()
	wantLast(t, "another session meanwhile", run(t, e, third, shell("pip install -q humanize==4.9.0 && echo on")), "on")
	if took, limit := time.Since(at), testutil.Moment(t, 2*time.Second); took > limit {
		t.Errorf("another session waited %s for packages that are there, want at most %s", took, limit)
	}
	o := wait(t, e, bad, id)
	used, wall := processorTime(t)-before, time.Since(begun)
	t.Logf("%s of processor time in %s; the flood: %s", used, wall, strings.TrimSpace(o.Stdout))
	if used > wall*2/5 {
		t.Errorf("the node used %s of processor time in %s, want less than two fifths", used, wall)
	}
	if !strings.HasPrefix(o.Stdout, "True") {
		t.Errorf("the session made too many connections: %q, %s", o.Stdout, o.Stderr)
	}
	time.Sleep(6 * time.Second) // until connections that are half open are given up
	wantLast(t, "the session itself, after that", run(t, e, bad, shell("pip install -q humanize==4.9.0 && echo on")), "on")
}

// TestInstallQuotaInSession: commands count as installations of the session.
func TestInstallQuotaInSession(t *testing.T) {
	_, mirrored := mirror(t, nil)
	e := node(t, mirrored)
	s := makeSession(t, e, several())
	o := run(t, e, s, shell("for i in 1 2 3 4 5 6 7; do pip install -q yurt-no-such-$i 2>&1; done"))
	if !strings.Contains(o.Stdout, "failed one after the other in this session") {
		t.Errorf("seven installations that fail: %s", o.Stdout)
	}
}

// TestViewLeadsNowhere: a layer with links out of it shows the session its own files there, and has
// the node look at no files of the host's.
func TestViewLeadsNowhere(t *testing.T) {
	_, mirrored := mirror(t, map[string]string{
		"links": "import os\nd = '/workspace/install/layer/'\nos.makedirs(d, exist_ok=True)\nfor name, to in ('bin', '/etc'), ('shadow', '/etc/shadow'), ('up', '../../../..'):\n  if not os.path.lexists(d + name): os.symlink(to, d + name)\n",
		"plain": "pass",
	})
	e := node(t, mirrored)
	s := makeSession(t, e, several())
	wantLast(t, "both", run(t, e, s, shell("pip install -q links && pip install -q plain && python3 -c 'import links, plain' && echo on")), "on")
	o := run(t, e, s, shell("readlink -f /run/packages/python/shadow; cat /run/packages/python/shadow 2>&1; ls /run/packages/python/bin/passwd; touch /run/packages/python/x /run/packages/python/plain.py 2>&1; ls -R /run/packages/python | head -100"))
	for _, want := range []string{"No such file", "Read-only file system"} {
		if !strings.Contains(o.Stdout, want) {
			t.Errorf("it said %q, want it to say %q", o.Stdout, want)
		}
	}
}
