package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/egress"
	"github.com/yurtrun/yurt/executor/packages"
)

// mirror is an operator's own registry, at a private address, with the packages of an attacker and
// their install scripts.
func mirror(t *testing.T, setups map[string]string) (*httptest.Server, func(*executor.Config)) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple"), "/")
		if file, ok := strings.CutPrefix(name, "files/"); ok {
			name = strings.TrimSuffix(file, "-1.0.tar.gz")
			w.Write(sdist(t, name, setups[name]))
			return
		}
		if setups[name] == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><a href="/files/%s-1.0.tar.gz">%s-1.0.tar.gz</a>`, name, name)
	}))
	t.Cleanup(server.Close)
	host, err := egress.HostOf(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return server, func(c *executor.Config) {
		c.Packages.Hosts = append(packages.PublicRegistries(), host)
		c.Packages.Env = map[string]string{"PIP_INDEX_URL": server.URL + "/simple"}
	}
}

// sdist is a source package of Python that runs the code when it is installed.
func sdist(t *testing.T, name, setup string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	setup += fmt.Sprintf("\nfrom setuptools import setup\nsetup(name=%q, version=\"1.0\", py_modules=[%q])\n", name, name)
	for path, text := range map[string]string{
		"setup.py": setup, "PKG-INFO": "Metadata-Version: 1.0\nName: " + name + "\nVersion: 1.0\n", name + ".py": "",
	} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name + "-1.0/" + path, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// spy tries the attacks of an install script, and leaves their outcome in its module.
const spy = `
import json, os, socket, glob
from urllib.request import ProxyHandler, build_opener
report = {}

def attempt(name, do):
    try:
        report[name] = "did: %r" % (do(),)
    except BaseException as error:
        report[name] = "failed: %s" % error

def by_proxy(url):
    proxy = os.environ["HTTP_PROXY"]
    return build_opener(ProxyHandler({"http": proxy, "https": proxy})).open(url, timeout=20).read(100)

def connect(address):
    with socket.create_connection(address, timeout=20) as s:
        return s.getpeername()

attempt("direct", lambda: connect(("1.1.1.1", 443)))
attempt("metadata direct", lambda: connect(("169.254.169.254", 80)))
attempt("name", lambda: socket.getaddrinfo("pypi.org", 443))
attempt("other host", lambda: by_proxy("https://example.com/"))
attempt("address", lambda: by_proxy("https://1.1.1.1/"))
attempt("metadata", lambda: by_proxy("http://169.254.169.254/latest/meta-data/"))
attempt("host's loopback", lambda: by_proxy("http://127.0.0.1:22/"))
attempt("plain", lambda: by_proxy("http://pypi.org/simple/"))
attempt("system", lambda: open("/usr/yurt-was-here", "w"))
attempt("accounts", lambda: open("/etc/passwd", "a"))
attempt("layers", lambda: os.makedirs("/run/yurt/layers/x"))
attempt("trust", lambda: open("/run/yurt/ca.pem", "w"))
attempt("session's files", lambda: open("/workspace/secret.txt").read())
attempt("other processes", lambda: [p for p in glob.glob("/proc/[0-9]*/environ") if b"SESSION_SECRET" in open(p, "rb").read()] or 1 / 0)
attempt("own environment", lambda: os.environ["SESSION_SECRET"])
with open("spy.py", "w") as f:
    f.write("report = " + repr(json.dumps(report)))
`

// TestInstallScriptsAreContained installs packages that attack.
func TestInstallScriptsAreContained(t *testing.T) {
	t.Parallel()
	_, mirrored := mirror(t, map[string]string{
		"spy":  spy,
		"link": "import os\nos.makedirs('/workspace/install/layer', exist_ok=True)\nfor name, to in ('shadow', '/etc/shadow'), ('root', '/'):\n  if not os.path.lexists('/workspace/install/layer/' + name): os.symlink(to, '/workspace/install/layer/' + name)\n",
		"full": "with open('/workspace/install/big', 'wb') as f:\n  while True: f.write(bytes(1 << 20))\n",
	})
	e := node(t, mirrored)
	s := sandbox(t, e, "python")
	with := func(name, code string) yurt.ExecutionSpec {
		return yurt.ExecutionSpec{
			Language: "python", Code: code, Dependencies: []string{name}, Env: map[string]string{"SESSION_SECRET": "s3cret"},
			Files: files("secret.txt", "s3cret"),
		}
	}
	t.Run("spy", func(t *testing.T) {
		o := run(t, e, s, with("spy", "import spy\nprint(spy.report)"))
		var report map[string]string
		if err := json.Unmarshal([]byte(o.Stdout), &report); err != nil || len(report) != 15 {
			t.Fatalf("%v: %q, %+v\n%s", err, o.Stdout, o.Error, o.progress)
		}
		for name, text := range report {
			if !strings.HasPrefix(text, "failed: ") {
				t.Errorf("%s: %s", name, text)
			}
		}
	})
	t.Run("what it left leads nowhere", func(t *testing.T) {
		o := run(t, e, s, with("link", `
import os, sys
layer = next(p for p in sys.path if p.startswith("/run/yurt/layers/"))
print(sorted(os.listdir(layer + "/root")) == sorted(os.listdir("/")), os.path.exists(layer + "/shadow"))
try: open(layer + "/link.py", "w")
except OSError as error: print(error.strerror)
`))
		wantOutput(t, o, "True False\nRead-only file system\n")
	})
	t.Run("full disk", func(t *testing.T) {
		o := run(t, e, s, with("full", "print('on')"))
		if o.Error == nil || o.Error.Type != yurt.ErrorTypeDependency {
			t.Errorf("exit %d, %+v", o.ExitCode, o.Error)
		}
	})
	wantOutput(t, run(t, e, s, yurt.ExecutionSpec{Language: "python", Code: "print(open('secret.txt').read())"}), "s3cret\n")
	if list, err := e.Sandboxes(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%d sandboxes, %v", len(list), err)
	}
}

// TestInstallationThatNeverEnds has a package leave a fork bomb behind, for whose output pip
// waits.
func TestInstallationThatNeverEnds(t *testing.T) {
	_, mirrored := mirror(t, map[string]string{
		"bomb": "import os\nif os.fork() == 0:\n  os.setsid()\n  while True:\n    try: os.fork()\n    except OSError: pass\n",
	})
	e := node(t, mirrored, func(c *executor.Config) { c.Packages.Timeout = 15 * time.Second })
	s := sandbox(t, e, "python")
	o := run(t, e, s, needs("bomb", "print('on')"))
	if o.Error == nil || o.Error.Type != yurt.ErrorTypeDependency || !strings.Contains(o.Error.Message, "took longer than 15s") {
		t.Errorf("exit %d, %+v", o.ExitCode, o.Error)
	}
	wantOutput(t, run(t, e, s, yurt.ExecutionSpec{Language: "python", Code: "print(2)"}), "2\n")
}
