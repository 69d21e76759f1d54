package node_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// landlockVersion is the kernel's, 0 without.
func landlockVersion(t *testing.T) int {
	t.Helper()
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errors.Is(errno, unix.ENOSYS) || errors.Is(errno, unix.EOPNOTSUPP) {
		return 0
	}
	if errno != 0 {
		t.Fatal(errno)
	}
	return int(version)
}

// TestLandlock writes to files that the user owns and no mount protects, outside the
// places that can be written to.
func TestLandlock(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	if r := testutil.Run(t, e, s.ID, "cat /proc/self/oom_score_adj"); r.Stdout != "1000\n" {
		t.Errorf("the score for want of memory is %q %q, want 1000", r.Stdout, r.Stderr)
	}
	want := "[Errno 13] Permission denied"
	if landlockVersion(t) < 2 {
		want = "written"
	}
	r := testutil.Execute(t, e, s.ID, testutil.Python(`
for path in ('/proc/self/comm', '/proc/self/oom_score_adj', '/proc/self/coredump_filter'):
    try:
        text = open(path).read()
        with open(path, 'w') as f: f.write(text)
        print(path, 'written')
    except OSError as e: print(path, str(e).split(':')[0])`))
	expected := "/proc/self/comm " + want + "\n/proc/self/oom_score_adj " + want + "\n/proc/self/coredump_filter " + want + "\n"
	if r.Stdout != expected {
		t.Errorf("got %q %+v, want %q", r.Stdout, r.Error, expected)
	}
	if r := testutil.Run(t, e, s.ID, "sleep 300 & echo $! > /tmp/pid"); r.Error != nil {
		t.Fatal(r.Error)
	}
	// One domain for all executions: they see and signal one another.
	if r := testutil.Run(t, e, s.ID, "readlink /proc/$(cat /tmp/pid)/exe > /dev/null && kill $(cat /tmp/pid) && echo ended"); r.Stdout != "ended\n" {
		t.Errorf("a later execution cannot end what an earlier one left: %+v", r)
	}
}

// TestLandlockScopes has a process beside the executions, of the same user and namespaces, that is
// under no rules: they can neither signal it nor connect to its abstract socket.
func TestLandlockScopes(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	beside := exec.CommandContext(t.Context(), "nsenter", "-t", strconv.Itoa(s.PID), "-U", "-n", "-p", "-S", "1000", "-G", "1000", "/usr/bin/python3", "-c", `
import os, socket, sys
server = socket.socket(socket.AF_UNIX); server.bind('\0beside'); server.listen()
print(os.getpid(), flush=True)
sys.stdin.read()`)
	stdin, inErr := beside.StdinPipe()
	stdout, outErr := beside.StdoutPipe()
	if err := errors.Join(inErr, outErr, beside.Start()); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(stdout, &pid); err != nil {
		t.Fatal(err)
	}
	want := "signal 1\nsocket 1\n" // EPERM
	if landlockVersion(t) < 6 {
		want = "signal 0\nsocket 0\n"
	}
	r := testutil.Execute(t, e, s.ID, testutil.Python(fmt.Sprintf(`
import os, socket
def errno(what, do):
    try: do(); print(what, 0)
    except OSError as e: print(what, e.errno)
errno('signal', lambda: os.kill(%d, 0))
errno('socket', lambda: socket.socket(socket.AF_UNIX).connect('\0beside'))`, pid)))
	if r.Stdout != want {
		t.Errorf("got %q %q, want %q", r.Stdout, r.Stderr, want)
	}
	if err := errors.Join(stdin.Close(), beside.Wait()); err != nil {
		t.Error(err)
	}
}

// programs are typical programs in sandboxes, which must work under every layer.
func programs() map[string]yurt.ExecutionSpec {
	return map[string]yurt.ExecutionSpec{
		"devices":  testutil.Command("echo x > /dev/null && head -c1 /dev/zero > /dev/full 2>/dev/null || head -c4 /dev/urandom | wc -c | grep -qx 4 && echo works"),
		"standard": testutil.Command("printf wor > /dev/stdout; echo ks >> /dev/fd/1"),
		"files": testutil.Command(`set -e; cd /workspace; mkdir -p a/b c; echo 1 > a/f; mv a/f c/g; ln c/g a/h; ln -s c/g l; truncate -s 3 a/h; chmod 700 a/h; cp -a a d
			mkfifo p; rm -r a d p; mv c/g /tmp/g; mv /tmp/g /dev/shm/g; rm /dev/shm/g; echo works`),
		"scripts": testutil.Command("printf '#!/bin/sh\\necho works\\n' > /tmp/s; chmod +x /tmp/s; /tmp/s"),
		"git": testutil.Command(`set -e; cd /workspace; git init -q r; cd r; git config user.email a@b.c; git config user.name n; echo 1 > f; git add f; git commit -qm one
			git checkout -qb two; git mv f g; git commit -qam two; git gc -q; git clone -q . ../r2; git -C ../r2 log --oneline | wc -l | grep -qx 2; echo works`),
		"gcc": testutil.Command("cd /workspace; printf '#include <stdio.h>\\nint main(){puts(\"works\");}' > m.c; gcc -O1 -o m m.c && ./m"),
		"terminal": testutil.Python(`
import os, pty
pid, fd = pty.fork()
if pid == 0: os.execvp('sh', ['sh', '-c', 'stty size > /dev/null && test -t 0 && echo ok > /dev/tty'])
out = b''
try:
    while chunk := os.read(fd, 100): out += chunk
except OSError: pass
os.waitpid(pid, 0)
print('works' if b'ok' in out else out)`),
		"sockets": testutil.Python(`
import os, socket, threading
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen()
threading.Thread(target=lambda: server.accept()[0].sendall(b'works')).start()
print(socket.create_connection(server.getsockname()).recv(10).decode())
for name in ('/workspace/socket', '\0abstract'):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen()
    c = socket.socket(socket.AF_UNIX); c.connect(name)`),
		"processes": testutil.Python(`
import multiprocessing, os, signal, subprocess
from multiprocessing import shared_memory
shared = shared_memory.SharedMemory(create=True, size=10); shared.unlink(); shared.close()
with multiprocessing.get_context('fork').Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
child = subprocess.Popen(['sleep', '100']); os.kill(child.pid, signal.SIGTERM); child.wait()
fd = os.memfd_create('x'); open(f'/proc/self/fd/{fd}', 'w').write('x')
print('works')`),
	}
}

func TestProgramsWork(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	for name, spec := range programs() {
		t.Run(name, func(t *testing.T) {
			s := testutil.Create(t, e)
			spec.Timeout = yurt.Duration(time.Minute)
			r := testutil.Execute(t, e, s.ID, spec)
			if r.Stdout != "works\n" || r.ExitCode != 0 {
				t.Errorf("exit %d, stdout %.200q, stderr %.2000q, %+v", r.ExitCode, r.Stdout, r.Stderr, r.Error)
			}
		})
	}
}
