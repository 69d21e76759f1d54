package testutil

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/yurtrun/yurt/test/ociimage"
)

// Registry is a registry of container images on loopback.
type Registry struct {
	Host  string
	Close func() // as if it were away; the end of the test does so too
}

// StartRegistry starts one.
func StartRegistry(t testing.TB) *Registry {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return &Registry{Host: strings.TrimPrefix(server.URL, "http://"), Close: server.Close}
}

// ImageConfig is an image's own configuration for running it.
type ImageConfig struct {
	Env, Entrypoint, Command []string
	WorkingDir, User         string
	Architecture             string // "" for this machine's
}

// Push makes an image of the layers, which are tar archives, and returns its reference and
// digest.
func (r *Registry) Push(t testing.TB, repository string, config ImageConfig, layers ...[]byte) (reference, digest string) {
	t.Helper()
	if config.Architecture == "" {
		config.Architecture = runtime.GOARCH
	}
	image := ociimage.Of(t, v1.Platform{OS: "linux", Architecture: config.Architecture}, v1.Config{
		Env: config.Env, Entrypoint: config.Entrypoint, Cmd: config.Command, WorkingDir: config.WorkingDir, User: config.User,
	}, layers...)
	reference = r.Host + "/" + repository
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	hash, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return reference, hash.String()
}

// Tar makes an archive of the entries, those that are regular files with the content of
// the same index.
func Tar(t testing.TB, headers []tar.Header, contents map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		h.Size = int64(len(contents[h.Name]))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, contents[h.Name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// HostLayer makes a layer of programs of this machine, with the libraries that they need,
// and of the directories that are given. /bin and /lib are links as on the host.
func HostLayer(t testing.TB, programs []string, dirs ...string) []byte {
	t.Helper()
	l := hostLayer{t: t, added: make(map[string]bool)}
	l.w = tar.NewWriter(&l.out)
	for _, link := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		l.add(link)
	}
	for _, program := range programs {
		l.add(program)
		out, err := exec.CommandContext(t.Context(), "ldd", program).Output()
		if err != nil {
			continue // it is static
		}
		for _, library := range regexp.MustCompile(`/\S+\.so\S*`).FindAllString(string(out), -1) {
			l.add(library)
		}
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !strings.Contains(path, "__pycache__") && !strings.Contains(path, "/test/") && !entry.IsDir() {
				l.add(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.w.Close(); err != nil {
		t.Fatal(err)
	}
	return l.out.Bytes()
}

type hostLayer struct {
	t     testing.TB
	out   bytes.Buffer
	w     *tar.Writer
	added map[string]bool
}

// add adds a file of the host, and the target of a link.
func (l *hostLayer) add(path string) {
	l.t.Helper()
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	info, err := os.Lstat(path)
	if l.added[path] || err != nil {
		return // not every machine has a /lib64
	}
	l.added[path] = true
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(path); err != nil {
			l.t.Fatal(err)
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		l.t.Fatal(err)
	}
	header.Name = strings.TrimPrefix(path, "/")
	if err := l.w.WriteHeader(header); err != nil {
		l.t.Fatal(err)
	}
	switch {
	case info.Mode().IsRegular():
		data, err := os.ReadFile(path)
		if err != nil {
			l.t.Fatal(err)
		}
		if _, err := l.w.Write(data); err != nil {
			l.t.Fatal(err)
		}
	case target != "":
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
				l.add(real)
			}
		}
	}
}
