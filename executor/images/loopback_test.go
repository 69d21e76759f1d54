package images

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/test/ociimage"
)

// loopback is a registry on loopback that can be told to misbehave.
type loopback struct {
	host string

	mu    sync.Mutex
	asked map[string]int // by kind: manifests, blobs
	spoil func(w http.ResponseWriter, r *http.Request) bool
}

func newLoopback(t *testing.T) *loopback {
	t.Helper()
	g := &loopback{asked: make(map[string]int)}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		for _, kind := range []string{"manifests", "blobs"} {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/"+kind+"/") {
				g.asked[kind]++
			}
		}
		spoil := g.spoil
		g.mu.Unlock()
		if spoil == nil || !spoil(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	g.host = strings.TrimPrefix(server.URL, "http://")
	return g
}

func (g *loopback) misbehave(how func(w http.ResponseWriter, r *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spoil = how
}

func (g *loopback) count(kind string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[kind]
}

// push makes an image known to the registry, and returns its reference.
func (g *loopback) push(t *testing.T, repository string, image v1.Image) string {
	t.Helper()
	text := g.host + "/" + repository
	ref, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	return text
}

// file, dir, link and hidden are entries of a layer.
func file(name, content string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600}, content}
}

func dir(name string) entry {
	return entry{tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o700}, ""}
}

func link(name, target string) entry {
	return entry{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}, ""}
}

func hard(name, target string) entry {
	return entry{tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target}, ""}
}

type entry struct {
	tar.Header
	content string
}

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := e.Header
		h.Size = int64(len(e.content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// layered makes an image for this platform.
func layered(t *testing.T, config v1.Config, layers ...[]byte) v1.Image {
	t.Helper()
	return ociimage.Of(t, v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, config, layers...)
}

func open(t *testing.T, config Config) *Store {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return openWith(t, config, self)
}

// openWith returns a store whose unpacker is the program.
func openWith(t *testing.T, config Config, unpacker string) *Store {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("files of images are made as root")
	}
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	local := programs.New(programs.Config{Unpacker: unpacker, ImagesDir: config.Dir})
	config.Programs = programs.Unpackers{By: local}
	s, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); local.Close() })
	return s
}

func silent(string) error { return nil }

// get returns an image that must be had.
func get(t *testing.T, s *Store, text, user string) *Image {
	t.Helper()
	image, err := s.Get(t.Context(), text, user, false, silent)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func emptyIndex() v1.ImageIndex { return empty.Index }

// addendum is an image of one file, under a name in a layout.
func addendum(t *testing.T, name, content string) mutate.IndexAddendum {
	t.Helper()
	return mutate.IndexAddendum{
		Add:        layered(t, v1.Config{}, archive(t, file("a", content))),
		Descriptor: v1.Descriptor{Annotations: map[string]string{refName: name}},
	}
}

// described writes the image of an addendum into the layout.
func described(t *testing.T, path layout.Path, add mutate.IndexAddendum) v1.Descriptor {
	t.Helper()
	image, ok := add.Add.(v1.Image)
	if !ok {
		t.Fatal("it is no image")
	}
	if err := path.WriteImage(image); err != nil {
		t.Fatal(err)
	}
	desc, err := partial.Descriptor(image)
	if err != nil {
		t.Fatal(err)
	}
	desc.Annotations, desc.Platform = add.Annotations, add.Platform
	return *desc
}
