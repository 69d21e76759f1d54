package packages

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/egress"
)

// forked is a registry with two indexes: the operator's, and one in which an attacker has a
// package of the same name.
func forked(t *testing.T) (evil string, configure func(*executor.Config)) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		index, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if strings.HasSuffix(path, ".tar.gz") {
			w.Write(sdist(t, "good", fmt.Sprintf("open('good.py', 'w').write('WHOSE = %q')", index)))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><a href="/%s/files/good-1.0.tar.gz">good-1.0.tar.gz</a>`, index)
	}))
	t.Cleanup(server.Close)
	host, err := egress.HostOf(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return server.URL + "/attacker/simple", func(c *executor.Config) {
		c.Packages.Hosts = []egress.Host{host}
		c.Packages.Env = map[string]string{"PIP_INDEX_URL": server.URL + "/operator/simple"}
	}
}

// TestLayersCannotBePoisoned: files that a session gives beside a list of packages do not come into
// the layer that other sessions with the same list get. The attack must fail, since the sandbox
// that installs has only the session's list and manifests, and all of these are in the layer's
// name.
func TestLayersCannotBePoisoned(t *testing.T) {
	evil, configure := forked(t)
	e := node(t, configure)
	attacker, other := sandbox(t, e, "python"), sandbox(t, e, "python")
	const whose = "import good\nprint(good.WHOSE)"
	for path, text := range map[string]string{
		"pip.conf": "[global]\nindex-url = " + evil, ".pip/pip.conf": "[global]\nindex-url = " + evil, ".config/pip/pip.conf": "[global]\nindex-url = " + evil,
		"setup.cfg": "[easy_install]\nindex-url = " + evil, ".pydistutils.cfg": "[easy_install]\nindex-url = " + evil,
		"sitecustomize.py": "import os\nos.environ['PIP_INDEX_URL'] = '" + evil + "'", "install/layer/good.py": "WHOSE = 'attacker'",
	} {
		run(t, e, attacker, yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: []string{"true"}, Files: files(path, text)})
	}
	o := run(t, e, attacker, yurt.ExecutionSpec{
		Language: "python", Code: "import sys\nsys.path = [p for p in sys.path if 'layers' in p] + sys.path\n" + whose, Dependencies: []string{"good"},
		Env: map[string]string{
			"PIP_INDEX_URL": evil, "PIP_EXTRA_INDEX_URL": evil, "PIP_CONFIG_FILE": "/workspace/pip.conf", "PYTHONPATH": "/workspace",
			"HOME": "/workspace", "XDG_CONFIG_HOME": "/workspace/.config", "PIP_TARGET": "/workspace/x", "HTTP_PROXY": evil,
		},
	})
	wantOutput(t, o, "operator\n")
	// The layer is there now, and its files are out of the attacker's reach.
	wantOutput(t, run(t, e, attacker, yurt.ExecutionSpec{
		Language: "python", Dependencies: []string{"good"}, Code: `
import ctypes, os, good
layer = os.path.dirname(good.__file__)
libc = ctypes.CDLL(None, use_errno=True)
for name, do in {
    "write": lambda: open(good.__file__, "w"), "append": lambda: open(good.__file__, "a"), "truncate": lambda: os.truncate(good.__file__, 0),
    "remove": lambda: os.remove(good.__file__), "rename": lambda: os.rename(good.__file__, layer + "/x"), "chmod": lambda: os.chmod(good.__file__, 0o777),
    "link in": lambda: os.link("/workspace/setup.cfg", layer + "/sitecustomize.py"), "link out": lambda: os.link(good.__file__, "/workspace/mine.py"),
    "symlink": lambda: os.symlink("/workspace", layer + "/x"), "mkdir": lambda: os.mkdir(layer + "/x"), "beside": lambda: os.mkdir(os.path.dirname(layer) + "/" + "0" * 64),
    "replace the mount's place": lambda: os.rename(layer, layer + "x"), "times": lambda: os.utime(good.__file__, (1, 1)),
    "by its descriptor": lambda: open("/proc/self/fd/%d" % os.open(good.__file__, os.O_RDONLY), "w"),
    "xattr": lambda: os.setxattr(good.__file__, "user.x", b"x"),
}.items():
    try: do()
    except OSError: continue
    print("did", name)
for call in (libc.mount(b"x", layer.encode(), b"tmpfs", 0, b""), libc.mount(b"", layer.encode(), b"", 32 | 0x1000, b""), libc.umount2(layer.encode(), 2)):
    if call == 0: print("did mount")
print(good.WHOSE)
`,
	}), "operator\n")
	o = run(t, e, other, needs("good", whose))
	wantOutput(t, o, "operator\n")
	if o.installed() {
		t.Error("the other session has another layer, so nothing was shown")
	}
}

// TestWhatAnInstallationLeavesIsPlain: files that are no files, or come with privileges, are
// in no layer.
func TestWhatAnInstallationLeavesIsPlain(t *testing.T) {
	t.Parallel()
	const in = "import os, socket\nos.makedirs('/workspace/install/layer', exist_ok=True)\nos.chdir('/workspace/install/layer')\n"
	_, mirrored := mirror(t, map[string]string{
		"pipe": in + "os.path.exists('pipe') or os.mkfifo('pipe', 0o666)\n",
		"plug": in + "os.path.exists('socket') or socket.socket(socket.AF_UNIX).bind('socket')\n",
		"suid": in + "open('suid', 'w').close()\nos.chmod('suid', 0o6777)\nos.mkdir('sticky') if not os.path.exists('sticky') else 0\nos.chmod('sticky', 0o7777)\n",
		"twin": in + "open('one', 'w').write('1')\nos.path.exists('two') or os.link('one', 'two')\n",
		"hole": in + "open('hole', 'wb').truncate(1 << 40)\n",
		"deep": in + "at = os.open('.', 0)\nfor i in range(3000):\n  try: os.mkdir('d', dir_fd=at)\n  except FileExistsError: pass\n" +
			"  above, at = at, os.open('d', 0, dir_fd=at); os.close(above)\n", // not by chdir: to find out where it is would take Python minutes
	})
	e := node(t, mirrored)
	s := sandbox(t, e, "python")
	const list = `
import os, stat, sys
layer = next(p for p in sys.path if p.startswith("/run/yurt/layers/"))
for path, dirs, names in os.walk(layer):
    for name in dirs + names:
        s = os.lstat(os.path.join(path, name))
        if not (stat.S_ISREG(s.st_mode) or stat.S_ISDIR(s.st_mode)) or s.st_mode & 0o7000 or s.st_uid == os.getuid():
            print("odd:", name, oct(s.st_mode), s.st_uid)
        if s.st_size > 1 << 30: print("large:", name)
flags = next(l.split()[3] for l in open("/proc/mounts") if l.split()[1] == layer).split(",")
print({"ro", "nosuid", "nodev"} - set(flags) or "plain")
`
	for _, name := range []string{"pipe", "plug", "suid", "twin", "hole", "deep"} {
		t.Run(name, func(t *testing.T) {
			o := run(t, e, s, needs(name, list))
			if o.Error != nil && o.Error.Type == yurt.ErrorTypeDependency {
				t.Logf("it is refused: %s", o.Error.Message)
				return
			}
			wantOutput(t, o, "plain\n")
		})
	}
	wantOutput(t, run(t, e, s, yurt.ExecutionSpec{Language: "python", Code: "print('on')"}), "on\n")
}
