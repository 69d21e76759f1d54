package attack

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// fileAttack is a program that lays a trap in its workspace, the host's operation there, and why
// that does no harm.
type fileAttack struct {
	name  string
	fails string
	// program is Python that follows the prelude. It says "ready", and may go on.
	program string
	sandbox func(*yurt.SandboxSpec)
	// use is the host's operation.
	use func(t *testing.T, a *arena, sandbox string)
}

// TestFiles lets the host use the files of programs that try to lead it astray.
func TestFiles(t *testing.T) {
	a := newArena(t)
	for _, attack := range fileAttacks() {
		t.Run(attack.name, func(t *testing.T) {
			t.Log("must fail, since", attack.fails)
			if attack.sandbox == nil {
				attack.sandbox = func(*yurt.SandboxSpec) {}
			}
			sandbox := a.create(t, attack.sandbox)
			spec := program(attack.program + "\nprint('ready', flush=True)\ngo() if 'go' in globals() else None")
			if err := a.StartExecution(t.Context(), sandbox, spec); err != nil {
				t.Fatal(err)
			}
			waitFor(t, a, sandbox, spec.ID, "ready\n")
			attack.use(t, a, sandbox)
			a.works(t, "the bystander", a.bystander)
			if err := a.DestroySandbox(t.Context(), sandbox); err != nil {
				t.Errorf("it cannot be destroyed: %v", err)
			}
		})
	}
}

// everything runs all of the host's file operations on a path, and returns the data read.
func everything(t *testing.T, a *arena, sandbox, path string) []byte {
	t.Helper()
	var read bytes.Buffer
	ctx := t.Context()
	if content, _, err := a.ReadFile(ctx, sandbox, path, yurt.Span{}); err == nil {
		io.Copy(&read, io.LimitReader(content, 1<<20))
		content.Close()
	}
	if info, err := a.StatFile(ctx, sandbox, path); err == nil {
		read.WriteString(info.Target)
	}
	a.PackFiles(ctx, sandbox, path, &read)
	a.ListFiles(ctx, sandbox, path, yurt.ListOptions{Depth: 3, Limit: 100})
	a.WriteFile(ctx, sandbox, path+"/planted", strings.NewReader("planted"), yurt.WriteOptions{})
	a.WriteFile(ctx, sandbox, path, strings.NewReader("planted"), yurt.WriteOptions{Append: true})
	a.ChmodFile(ctx, sandbox, path, 0o777)
	a.MakeDir(ctx, sandbox, path+"/dir", 0)
	a.UnpackFiles(ctx, sandbox, path, bytes.NewReader(archiveOf(t, "x", tar.Header{Name: "planted", Typeflag: tar.TypeReg})))
	a.RemoveFile(ctx, sandbox, path+"/planted", true)
	return read.Bytes()
}

// unharmed fails the test if a file of the template was changed, or is among data.
func unharmed(t *testing.T, a *arena, sandbox string, data []byte) {
	t.Helper()
	if bytes.Contains(data, []byte("root:x:")) {
		t.Error("it read the /etc/passwd of the root file system")
	}
	r := a.execute(t, sandbox, shell(`find / -xdev -name 'planted*' 2>/dev/null; find /tmp /dev -name 'planted*'; stat -c %a /etc /etc/passwd; grep -c ^root: /etc/passwd`))
	if r.Stdout != "755\n644\n1\n" {
		t.Errorf("what is the template's was changed: %q", r.Stdout)
	}
}

// archiveOf makes a tar archive, with content in each file.
func archiveOf(t *testing.T, content string, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		h.Mode = 0o666
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			io.WriteString(w, content)
		}
	}
	w.Close()
	return buf.Bytes()
}

// within30s fails the test if do does not come back: a host that waits for a sandbox
// is one that the sandbox has stopped.
func within30s(t *testing.T, do func(ctx context.Context)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(t.Context())
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the host waits for the sandbox")
	}
}

func fileAttacks() []fileAttack {
	return []fileAttack{
		{
			name:  "links to everywhere",
			fails: "every path is resolved below the workspace's descriptor",
			program: `
for n, target in enumerate(('/', '/etc', '/etc/passwd', '../etc', '../../../../etc/passwd', '/proc/self/root', '/proc/1/root', '/proc/self/cwd/../etc', '/tmp', '/dev/null', '/dev/shm', '.', 'l0', '/workspace/../etc', '')):
    if target: os.symlink(target, f'/workspace/l{n}')
os.mkdir('/workspace/d'); os.symlink('../../etc', '/workspace/d/l')
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				var read []byte
				for _, path := range []string{"l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l10", "l13", "l0/etc", "l1/passwd", "d/l", "d/l/passwd", "l3/passwd", "l5/etc/passwd", "../etc/passwd", "/etc/passwd", "d/../../etc/passwd"} {
					read = append(read, everything(t, a, sandbox, path)...)
				}
				unharmed(t, a, sandbox, read)
			},
		},
		{
			name:  "a link to a file of the host, by which the node writes (CVE-2026-39861)",
			fails: "every path is resolved below the workspace's descriptor, so that a link leads to no other place than within",
			program: `
def go():
    while not os.path.exists('/workspace/target'): time.sleep(0.01)
    target = open('/workspace/target').read()
    os.symlink(target, '/workspace/file')
    os.symlink(os.path.dirname(target), '/workspace/dir')
    os.symlink('../' * 20 + target[1:], '/workspace/relative')
    os.symlink('/proc/self/root' + target, '/workspace/alias')
    os.mkdir('/workspace/linked')
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				target := filepath.Join(t.TempDir(), "canary")
				if err := errors.Join(os.WriteFile(target, []byte("root:x:of the host"), 0o666), os.Chmod(target, 0o666), os.Chmod(filepath.Dir(target), 0o777)); err != nil {
					t.Fatal(err)
				}
				if _, err := a.WriteFile(t.Context(), sandbox, "target", strings.NewReader(target), yurt.WriteOptions{}); err != nil {
					t.Fatal(err)
				}
				testutil.Eventually(t, "the links are there", func() bool { _, err := a.StatFile(t.Context(), sandbox, "linked"); return err == nil })
				var read []byte
				for _, path := range []string{"file", "dir", "dir/canary", "relative", "alias"} {
					read = append(read, everything(t, a, sandbox, path)...)
				}
				unharmed(t, a, sandbox, read)
				entries, err := os.ReadDir(filepath.Dir(target))
				text, readErr := os.ReadFile(target)
				if err != nil || readErr != nil || len(entries) != 1 || string(text) != "root:x:of the host" {
					t.Errorf("on the host there are %v, and the file says %q (%v, %v)", entries, text, err, readErr)
				}
			},
		},
		{
			name:  "directories that become links while the host is in them",
			fails: "directories are held by descriptor, and each component is looked at when it is taken",
			program: `
RENAME_EXCHANGE = 2
os.makedirs('/workspace/d/e'); open('/workspace/d/e/passwd', 'w').write('inside')
os.symlink('/etc', '/workspace/l'); os.symlink('../../etc', '/workspace/d/m'); os.symlink('/etc/passwd', '/workspace/d/f'); open('/workspace/d/g', 'w').write('inside')
def go():
    while True:
        for a, b in (('d', 'l'), ('d/e', 'd/m'), ('d/f', 'd/g'), ('l/e', 'l/m')):
            libc.renameat2(-100, ('/workspace/' + a).encode(), -100, ('/workspace/' + b).encode(), RENAME_EXCHANGE)
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				var read []byte
				for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
					for _, path := range []string{"d/e", "d/m", "l", "d", "d/e/passwd", "d/g", "d/f", "l/passwd"} {
						read = append(read, everything(t, a, sandbox, path)...)
					}
				}
				unharmed(t, a, sandbox, read)
			},
		},
		{
			name:  "an archive unpacked while its directories become links",
			fails: "each entry is resolved for itself, below the workspace's descriptor",
			program: `
os.makedirs('/workspace/in/d')
os.symlink('/tmp', '/workspace/in/l')
def go():
    while True: libc.renameat2(-100, b'/workspace/in/d', -100, b'/workspace/in/l', 2)
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				archive := archiveOf(t, "x", tar.Header{Name: "d/planted1", Typeflag: tar.TypeReg}, tar.Header{Name: "l/planted2", Typeflag: tar.TypeReg}, tar.Header{Name: "d/planted3/", Typeflag: tar.TypeDir})
				for end := time.Now().Add(time.Second); time.Now().Before(end); {
					a.UnpackFiles(t.Context(), sandbox, "in", bytes.NewReader(archive))
				}
				if r := a.execute(t, sandbox, shell("ls /tmp")); r.Stdout != "" {
					t.Errorf("it unpacked to /tmp: %q", r.Stdout)
				}
			},
		},
		{
			name:  "FIFOs, sockets and leases in the place of files",
			fails: "no file is opened that could block, and files that are not regular are refused",
			program: `
import fcntl
os.mkfifo('/workspace/fifo'); os.mkdir('/workspace/d'); os.mkfifo('/workspace/d/fifo')
socket.socket(socket.AF_UNIX).bind('/workspace/socket')
leased = open('/workspace/leased', 'w+'); signal.signal(signal.SIGIO, signal.SIG_IGN)
fails('a lease', lambda: fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK))
locked = open('/workspace/locked', 'w'); fcntl.lockf(locked, fcntl.LOCK_EX); fcntl.flock(locked, fcntl.LOCK_EX)
def go(): time.sleep(60)
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				within30s(t, func(ctx context.Context) {
					for _, path := range []string{"fifo", "socket", "d", "leased", "locked"} {
						everything(t, a, sandbox, path)
					}
					for _, path := range []string{"fifo", "socket"} {
						if _, _, err := a.ReadFile(ctx, sandbox, path, yurt.Span{}); yurt.CodeOf(err) != yurt.CodeNotAFile {
							t.Errorf("reading %s: %v", path, err)
						}
					}
				})
			},
		},
		{
			name:  "a file that turns into a FIFO",
			fails: "the check is on the opened file, not on the path",
			program: `
os.mkfifo('/workspace/fifo'); open('/workspace/file', 'w').write('x')
def go():
    while True: libc.renameat2(-100, b'/workspace/fifo', -100, b'/workspace/file', 2)
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				within30s(t, func(ctx context.Context) {
					for range 300 {
						if content, _, err := a.ReadFile(ctx, sandbox, "file", yurt.Span{}); err == nil {
							io.Copy(io.Discard, content)
							content.Close()
						}
						a.PackFiles(ctx, sandbox, ".", io.Discard)
						a.WriteFile(ctx, sandbox, "file", strings.NewReader("x"), yurt.WriteOptions{Append: true})
					}
				})
			},
		},
		{
			name:  "holes as large as can be",
			fails: "a read has the requested length, and an archive's bytes are bounded, including those of holes",
			program: `
for n in range(100): os.truncate(os.open(f'/workspace/hole{n}', os.O_RDWR | os.O_CREAT), 1 << 40)
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				content, info, err := a.ReadFile(t.Context(), sandbox, "hole1", yurt.Span{Offset: -10})
				if err != nil || info.Size != 1<<40 {
					t.Fatalf("%+v, %v", info, err)
				}
				defer content.Close()
				if data, err := io.ReadAll(content); len(data) != 10 || err != nil {
					t.Errorf("%d bytes, %v", len(data), err)
				}
				if err := a.PackFiles(t.Context(), sandbox, ".", io.Discard); yurt.CodeOf(err) != yurt.CodeFileTooLarge {
					t.Errorf("packing them: %v", err)
				}
			},
		},
		{
			name:  "a file that grows while it is read",
			fails: "a read ends at the file's end at the time of its opening",
			program: `
f = open('/workspace/f', 'ab', 0); f.write(b'x' * 100)
def go():
    while f.tell() < 20 << 20: f.write(b'y' * 10000)
    time.sleep(60)
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				content, info, err := a.ReadFile(t.Context(), sandbox, "f", yurt.Span{})
				if err != nil {
					t.Fatal(err)
				}
				defer content.Close()
				if n, err := io.Copy(io.Discard, content); n != info.Size || err != nil {
					t.Errorf("%d bytes of %d, %v", n, info.Size, err)
				}
			},
		},
		{
			name:  "a tree deeper than paths can say",
			fails: "walks have a bound, and a removal moves up directories that are too deep, so that neither descriptors nor stack run out",
			program: `
os.chdir('/workspace')
for n in range(1500): os.mkdir('d'); os.chdir('d')
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				if err := a.PackFiles(t.Context(), sandbox, ".", io.Discard); yurt.CodeOf(err) != yurt.CodeInvalidPath {
					t.Errorf("packing it: %v", err)
				}
				if err := a.RemoveFile(t.Context(), sandbox, "d", true); err != nil {
					t.Errorf("removing it: %v", err)
				}
			},
		},
		{
			name:  "names that are not text, or look like something else",
			fails: "listed names are converted to text, and requested names are bounded text before they are used",
			program: `
for name in (b'\xff\xfe', b'a\nb', b'\x1b[2J', b'-rf', b'~', b'%2e%2e', b'...', b' ', b'x' * 255): open(b'/workspace/' + name, 'w').close()
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				list, err := a.ListFiles(t.Context(), sandbox, ".", yurt.ListOptions{Depth: 1, Limit: 100})
				if err != nil || len(list.Files) != 9 {
					t.Errorf("listed %+v, %v", list, err)
				}
				for _, f := range list.Files {
					if strings.ToValidUTF8(f.Path, "") != f.Path {
						t.Errorf("%q is no text", f.Path)
					}
				}
				if err := a.PackFiles(t.Context(), sandbox, ".", io.Discard); err != nil {
					t.Errorf("packing them: %v", err)
				}
			},
		},
		{
			name:    "a full disk, by way of the host",
			fails:   "the host writes to the same bounded file system",
			sandbox: limits(func(r *yurt.Resources) { r.Disk = 4 << 20 }),
			use: func(t *testing.T, a *arena, sandbox string) {
				big := strings.Repeat("x", 8<<20)
				if _, err := a.WriteFile(t.Context(), sandbox, "big", strings.NewReader(big), yurt.WriteOptions{}); yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
					t.Errorf("writing: %v", err)
				}
				archive := archiveOf(t, big, tar.Header{Name: "big", Typeflag: tar.TypeReg})
				if _, err := a.UnpackFiles(t.Context(), sandbox, ".", bytes.NewReader(archive)); yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
					t.Errorf("unpacking: %v", err)
				}
				var many []tar.Header
				for n := range 8192 {
					many = append(many, tar.Header{Name: "n/" + strings.Repeat("i", 1+n%200) + "/" + strings.Repeat("j", 1+n/200), Typeflag: tar.TypeReg})
				}
				if _, err := a.UnpackFiles(t.Context(), sandbox, ".", bytes.NewReader(archiveOf(t, "", many...))); yurt.CodeOf(err) != yurt.CodeWorkspaceFull {
					t.Errorf("all inodes: %v", err)
				}
				a.RemoveFile(t.Context(), sandbox, "n", true)
				a.works(t, "the sandbox", sandbox)
			},
		},
		{
			name:  "archives that lead out, or make devices",
			fails: "names have to stay inside, and only files, directories and links come out",
			use: func(t *testing.T, a *arena, sandbox string) {
				for name, headers := range map[string][]tar.Header{
					"..":           {{Name: "../tmp/planted", Typeflag: tar.TypeReg}},
					"absolute":     {{Name: "/tmp/planted", Typeflag: tar.TypeReg}},
					"a link":       {{Name: "l", Linkname: "/tmp", Typeflag: tar.TypeSymlink}, {Name: "l/planted", Typeflag: tar.TypeReg}},
					"a link to ..": {{Name: "l", Linkname: "../tmp", Typeflag: tar.TypeSymlink}, {Name: "l/planted", Typeflag: tar.TypeReg}},
					"a hard link":  {{Name: "h", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}},
					"a hard link through a link": {
						{Name: "s", Linkname: "/etc", Typeflag: tar.TypeSymlink}, {Name: "h", Linkname: "s/passwd", Typeflag: tar.TypeLink},
					},
					"a device": {{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
					"a disk":   {{Name: "sda", Typeflag: tar.TypeBlock, Devmajor: 8}},
					"a FIFO":   {{Name: "fifo", Typeflag: tar.TypeFifo}},
				} {
					if done, err := a.UnpackFiles(t.Context(), sandbox, ".", bytes.NewReader(archiveOf(t, "planted", headers...))); err == nil {
						t.Errorf("%s: unpacked %+v", name, done)
					}
				}
				unharmed(t, a, sandbox, nil)
			},
		},
		{
			name:  "more changes than a watch can report",
			fails: "the kernel's queue is bounded, equal changes are reported once, and a watch learns of lost changes",
			program: `
os.mkdir('/workspace/d')
def go():
    while True:
        for n in range(100):
            with open(f'/workspace/d/{n}', 'w') as f: f.write('x')
        os.rename('/workspace/d/1', '/workspace/d/2')
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				told := 0
				err := a.WatchFiles(ctx, sandbox, ".", true, func() {}, func(yurt.FileEvent) error {
					if told++; told == 5000 {
						cancel()
					}
					return nil
				})
				if ctx.Err() == nil {
					t.Errorf("it ended after %d events with %v", told, err)
				}
			},
		},
		{
			name:  "watches of directories outside",
			fails: "directories are watched by a descriptor of the directory inside",
			program: `
os.symlink('/etc', '/workspace/l'); os.symlink('/', '/workspace/root'); os.symlink('../tmp', '/workspace/t')
`,
			use: func(t *testing.T, a *arena, sandbox string) {
				for _, path := range []string{"l", "root", "t", "../tmp", "/etc", "root/etc"} {
					err := a.WatchFiles(t.Context(), sandbox, path, true, func() { t.Errorf("%s is watched", path) }, nil)
					if yurt.CodeOf(err) != yurt.CodePathOutsideWorkspace {
						t.Errorf("watching %s: %v", path, err)
					}
				}
			},
		},
	}
}
