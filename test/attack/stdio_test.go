package attack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/test/testutil"
)

// throughStdio attacks the caller of yurt run by way of its input and output.
const throughStdio = `
import fcntl, termios
for fd in (0, 1, 2):
    name, own = '/proc/self/fd/%d' % fd, os.O_RDONLY if fd == 0 else os.O_WRONLY
    if not stat.S_ISFIFO(os.fstat(fd).st_mode) or not os.readlink(name).startswith('pipe:['): got(fd, os.readlink(name), os.fstat(fd))
    if fcntl.fcntl(fd, fcntl.F_GETFL) & ~0o100000 != own: got(fd, 'has flags', oct(fcntl.fcntl(fd, fcntl.F_GETFL)))
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        if flags != own: fails((fd, flags), lambda: os.open(name, flags))
    fails((fd, 'TCGETS'), lambda: fcntl.ioctl(fd, termios.TCGETS, bytes(64)))
    for request in (termios.TIOCSTI, termios.TIOCLINUX, termios.TIOCSCTTY, termios.TIOCCONS, termios.TIOCSETD, 0x5441):  # TIOCGPTPEER
        fails((fd, hex(request)), lambda: fcntl.ioctl(fd, request, b'x' * 8))
    fails((fd, 'lseek'), lambda: os.lseek(fd, 0, 0))
    fails((fd, 'ftruncate'), lambda: os.ftruncate(fd, 0))
    fails((fd, 'pwrite'), lambda: os.pwrite(fd, b'forged', 0))
    fails((fd, 'getpeername'), lambda: socket.socket(fileno=os.dup(fd)).getpeername())
    fails((fd, 'fchmod'), lambda: os.fchmod(fd, 0o666))
    fails((fd, 'fchown'), lambda: os.fchown(fd, 1000, 1000))
    # For its own descriptor it may. Its caller's is another.
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND | os.O_DIRECT)
fails('reading its output', lambda: os.read(1, 1))
fails('writing to its input', lambda: os.write(0, b'forged'))
fails('the terminal', lambda: os.open('/dev/tty', os.O_RDWR))
for fd in range(3, 256):
    try: name = os.readlink('/proc/self/fd/%d' % fd)
    except OSError: continue
    if not name.startswith('pipe:[') and not name.startswith('/run/yurt/'): got(fd, name)
`

// caller runs a program by yurt run, with standard input and output of some kind.
type caller struct {
	stdin, stdout *os.File
	terminal      bool                    // it is that of the caller
	wrote         func(*testing.T) []byte // reads the data that reached stdout
	check         func(*testing.T)        // checks that the caller's other files are unchanged
}

// TestStdio runs hostile programs by yurt run itself, with all that its input and output may be.
func TestStdio(t *testing.T) {
	testutil.NeedsSandboxes(t)
	file := filepath.Join(t.TempDir(), "attack.py")
	if err := os.WriteFile(file, []byte(prelude+throughStdio+"\nprint('held')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	yurt := testutil.BuildYurt(t, "yurt", "test")
	for name, begin := range map[string]func(*testing.T) caller{
		"pipes":                       pipes,
		"a pipe with a secret in it":  sharedPipe,
		"a pipe that all may read":    readablePipe,
		"a FIFO that all may open":    namedPipe,
		"a terminal":                  ownTerminal,
		"a file to read and to write": ownFile,
		"a file that grows":           ownLog,
		"a socket":                    ownSocket,
	} {
		t.Run(name, func(t *testing.T) {
			c := begin(t)
			before := flagsOf(t, c.stdin, c.stdout)
			ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, time.Minute))
			defer cancel()
			cmd := exec.CommandContext(ctx, yurt, "run", file)
			var stderr bytes.Buffer
			cmd.WaitDelay = time.Second
			cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout, &stderr
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			if c.terminal {
				cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
			}
			if err := cmd.Run(); err != nil || stderr.Len() > 0 {
				t.Errorf("it ended with %v, %s", err, stderr.Bytes())
			}
			if after := flagsOf(t, c.stdin, c.stdout); after != before {
				t.Errorf("the caller's descriptors have other flags: %s, had %s", after, before)
			}
			if out := c.wrote(t); string(out) != "held\n" {
				t.Errorf("it wrote %q", out)
			}
			if c.check != nil {
				c.check(t)
			}
		})
	}
}

func flagsOf(t *testing.T, files ...*os.File) (all string) {
	t.Helper()
	for _, f := range files {
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%o ", flags)
	}
	return all
}

func openPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func openFile(t *testing.T, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// drained reads the data that a pipe holds once its writing end is closed.
func drained(r, w *os.File) func(*testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		w.Close()
		data, err := io.ReadAll(r)
		if err != nil {
			t.Error(err)
		}
		return data
	}
}

func pipes(t *testing.T) caller {
	in, _ := openPipe(t)
	r, w := openPipe(t)
	return caller{stdin: in, stdout: w, wrote: drained(r, w)}
}

// sharedPipe has in its output another program's text, and in its input text for the next program.
func sharedPipe(t *testing.T) caller {
	c := pipes(t)
	if _, err := c.stdout.WriteString("secret\n"); err != nil {
		t.Fatal(err)
	}
	wrote := c.wrote
	c.wrote = func(t *testing.T) []byte {
		out, found := bytes.CutPrefix(wrote(t), []byte("secret\n"))
		if !found {
			t.Error("what another program wrote is not there")
		}
		return out
	}
	return c
}

// readablePipe is the output when the next program of the line is in a sandbox too.
func readablePipe(t *testing.T) caller {
	c := sharedPipe(t)
	if err := c.stdout.Chmod(0o004); err != nil {
		t.Fatal(err)
	}
	return c
}

func namedPipe(t *testing.T) caller {
	dir := t.TempDir()
	for _, name := range []string{"in", "out"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// An open of both ends does not block.
	openFile(t, filepath.Join(dir, "in"), os.O_RDWR)
	r := openFile(t, filepath.Join(dir, "out"), os.O_RDONLY|unix.O_NONBLOCK)
	w := openFile(t, filepath.Join(dir, "out"), os.O_WRONLY)
	return caller{stdin: openFile(t, filepath.Join(dir, "in"), os.O_RDONLY), stdout: w, wrote: drained(r, w)}
}

func ownTerminal(t *testing.T) caller {
	person, terminal := testutil.Terminal(t)
	before, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return caller{
		stdin: terminal, stdout: terminal, terminal: true,
		wrote: func(t *testing.T) []byte {
			var buf [64]byte
			_ = person.SetReadDeadline(time.Now().Add(testutil.Moment(t, time.Second))) // all written data is there
			n, err := person.Read(buf[:])
			if err != nil {
				t.Error(err)
			}
			return bytes.ReplaceAll(buf[:n], []byte("\r\n"), []byte("\n"))
		},
		check: func(t *testing.T) {
			after, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
			if err != nil || *after != *before {
				t.Errorf("the terminal has other settings: %+v, had %+v, %v", after, before, err)
			}
			if typed, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCINQ); err != nil || typed != 0 {
				t.Errorf("%d bytes were typed at the terminal, %v", typed, err)
			}
		},
	}
}

// ownFile is one file that everybody may read and write, and that the program's input and output are.
func ownFile(t *testing.T) caller {
	path := filepath.Join(t.TempDir(), "file")
	file := openFile(t, path, os.O_RDWR|os.O_CREATE)
	if err := file.Chmod(0o666); err != nil {
		t.Fatal(err)
	}
	return caller{stdin: file, stdout: file, wrote: contents(path)}
}

// ownLog has lines in it, after which the output is to come.
func ownLog(t *testing.T) caller {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := contents(path)
	return caller{
		stdin: openFile(t, path, os.O_RDONLY), stdout: openFile(t, path, os.O_WRONLY|os.O_APPEND),
		wrote: func(t *testing.T) []byte {
			out, found := bytes.CutPrefix(read(t), []byte("before\n"))
			if !found {
				t.Error("what was in the file is not there")
			}
			return out
		},
	}
}

func contents(path string) func(*testing.T) []byte {
	return func(t *testing.T) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return data
	}
}

func ownSocket(t *testing.T) caller {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, its := os.NewFile(uintptr(ends[0]), "ours"), os.NewFile(uintptr(ends[1]), "its")
	t.Cleanup(func() { ours.Close(); its.Close() })
	return caller{stdin: its, stdout: its, wrote: drained(ours, its)}
}
