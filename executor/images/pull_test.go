package images

import (
	"archive/tar"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/yurtrun/yurt"
)

func TestPull(t *testing.T) {
	t.Parallel()
	g := newLoopback(t)
	text := g.push(t, "team/tool:1", layered(t, v1.Config{
		Env: []string{"PATH=/opt/bin:/bin", "EMPTY="}, Entrypoint: []string{"/bin/tool"}, Cmd: []string{"-v"}, WorkingDir: "/opt", User: "app",
	},
		archive(t, dir("bin/"), file("bin/tool", "first"), file("etc/passwd", "root:x:0:0::/:/bin/sh\napp:x:70:71::/home/app:/bin/sh"), dir("data/"), file("data/old", "x"), file("gone", "x")),
		archive(t, file("bin/tool", "second"), file(".wh.gone", ""), file("data/.wh..wh..opq", ""), file("data/new", "y"), hard("bin/again", "bin/tool"), link("bin/link", "/bin/tool"),
			entry{tar.Header{Typeflag: tar.TypeReg, Name: "bin/su", Mode: 0o6755, Uid: 7}, "x"}),
	))
	s := open(t, Config{Registries: []string{g.host}})
	var told []string
	image, err := s.Get(t.Context(), text, "me", false, func(text string) error { told = append(told, text); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if len(told) == 0 || !strings.Contains(told[0], text) {
		t.Errorf("it told %q", told)
	}
	for name, want := range map[string]string{"bin/tool": "second", "bin/again": "second", "data/new": "y"} {
		if data, err := os.ReadFile(filepath.Join(image.Root, name)); string(data) != want {
			t.Errorf("%s holds %q, %v; want %q", name, data, err, want)
		}
	}
	for _, name := range []string{"gone", ".wh.gone", "data/old", "data/.wh..wh..opq"} {
		if _, err := os.Lstat(filepath.Join(image.Root, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if info, err := os.Stat(filepath.Join(image.Root, "bin/su")); err != nil || info.Mode() != 0o755 {
		t.Errorf("a program that wants to be root's: %v, %v", info, err)
	}
	if image.Env["PATH"] != "/opt/bin:/bin" || image.Entrypoint[0] != "/bin/tool" || image.Command[0] != "-v" || image.WorkingDir != "/opt" {
		t.Errorf("its configuration is %+v", image.ImageInfo)
	}
	info, err := image.Describe()
	if err != nil || info.RunAs == nil || *info.RunAs != (yurt.User{UID: 70, GID: 71}) || info.Name != "app" || info.Home != "/home/app" {
		t.Errorf("it runs as %+v, %q in %q, %v", info.RunAs, info.Name, info.Home, err)
	}
	passwd, err := os.ReadFile(filepath.Join(image.Root, "etc/passwd"))
	if err != nil || !strings.HasSuffix(string(passwd), "sh\nuser:x:1000:1000:sandbox user:/workspace:/bin/sh\n") {
		t.Errorf("the accounts are %q, %v", passwd, err)
	}

	// It is there now, by either name, also for the next process and with its registry away.
	asked := g.count("manifests")
	g.misbehave(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusTeapot); return true })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Config{Registries: []string{g.host}, Dir: s.config.Dir})
	for _, again := range []string{text, image.Reference} {
		if second := get(t, s, again, "me"); second.Digest != image.Digest || second.Root != image.Root {
			t.Errorf("%s is %+v", again, second)
		}
	}
	if now := g.count("manifests"); now != asked {
		t.Errorf("the registry was asked %d times more", now-asked)
	}
	if again, err := s.Get(t.Context(), text, "me", true, silent); err != nil || again.Digest != image.Digest {
		t.Errorf("fresh, with the registry away: %v", err)
	}
}

// TestFresh has a tag that is given to another image.
func TestFresh(t *testing.T) {
	t.Parallel()
	g := newLoopback(t)
	text := g.push(t, "tool:latest", layered(t, v1.Config{}, archive(t, file("a", "1"))))
	s := open(t, Config{Registries: []string{AnyRegistry}})
	first := get(t, s, text, "me")
	g.push(t, "tool:latest", layered(t, v1.Config{}, archive(t, file("a", "2"))))
	if again := get(t, s, text, "me"); again.Digest != first.Digest {
		t.Error("the tag was asked for again")
	}
	fresh, err := s.Get(t.Context(), text, "me", true, silent)
	if err != nil || fresh.Digest == first.Digest {
		t.Errorf("fresh: %+v, %v", fresh, err)
	}
	if again := get(t, s, text, "me"); again.Digest != fresh.Digest {
		t.Error("what it means now is forgotten")
	}
}

func TestOnePullForAll(t *testing.T) {
	t.Parallel()
	g := newLoopback(t)
	text := g.push(t, "tool:1", layered(t, v1.Config{}, archive(t, file("a", "1")), archive(t, file("b", "2"))))
	before := g.count("blobs")
	s := open(t, Config{Registries: []string{g.host}})
	gate := make(chan struct{})
	g.misbehave(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/blobs/") {
			<-gate
		}
		return false
	})
	var wait sync.WaitGroup
	heard := make(chan struct{}, 8)
	for i := range 8 {
		wait.Go(func() {
			image, err := s.Get(t.Context(), text, fmt.Sprint("user ", i), false, func(string) error {
				select {
				case heard <- struct{}{}:
				default:
				}
				return nil
			})
			if err != nil || image == nil {
				t.Errorf("%v, %v", image, err)
			}
		})
	}
	// A caller that leaves does not end the pull.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(ctx, text, "gone", false, silent); err == nil {
		t.Error("it was had in no time")
	}
	close(gate)
	wait.Wait()
	if n := g.count("blobs") - before; n != 3 {
		t.Errorf("%d blobs were downloaded, want the configuration and two layers", n)
	}
	if len(heard) == 0 {
		t.Error("nobody heard of it")
	}
}

func TestPullThatBreaks(t *testing.T) {
	t.Parallel()
	g := newLoopback(t)
	text := g.push(t, "tool:1", layered(t, v1.Config{}, archive(t, file("a", strings.Repeat("1", 1<<20)))))
	s := open(t, Config{Registries: []string{g.host}})
	failed := 0
	g.misbehave(breaking(&failed))
	if image := get(t, s, text, "me"); image.Bytes < 1<<20 || image.Bytes > 1<<20+1000 { // with the accounts that each image is given
		t.Errorf("%+v", image)
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

// breaking breaks off the second blob that is asked for: after the configuration, a layer.
func breaking(failed *int) func(w http.ResponseWriter, r *http.Request) bool {
	blobs := 0
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		if blobs++; blobs != 2 {
			return false
		}
		*failed++
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte("a part"))
		return true // and the connection ends
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	g := newLoopback(t)
	small := archive(t, file("a", "1"))
	good := g.push(t, "good:1", layered(t, v1.Config{}, small))
	image := layered(t, v1.Config{}, small)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.Architecture = "s390x"
	foreign, err := mutate.ConfigFile(image, config)
	if err != nil {
		t.Fatal(err)
	}
	layersOf, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := mutate.Append(layered(t, v1.Config{}), mutate.Addendum{Layer: layersOf[0], URLs: []string{"http://169.254.169.254/x"}, MediaType: types.DockerForeignLayer})
	if err != nil {
		t.Fatal(err)
	}
	bomb := archive(t, file("zeros", strings.Repeat("\x00", 1<<20)))
	gone := newLoopback(t)
	tests := []struct {
		name, text string
		want       yurt.Code
		says       string
	}{
		{"a registry that is not allowed", "docker.io/library/debian:13", yurt.CodeForbidden, "docker.io"},
		{"no reference", "UPPER CASE", yurt.CodeInvalidArgument, "no reference"},
		{"no reference either", "a@b@c", yurt.CodeInvalidArgument, "no reference"},
		{"nothing", "", yurt.CodeInvalidArgument, "empty"},
		{"a layout that is not allowed", "oci:/etc", yurt.CodeForbidden, "/etc"},
		{"no path", "oci:etc/../x", yurt.CodeInvalidArgument, "absolute"},
		{"not there", g.host + "/good:2", yurt.CodeNotFound, "good:2"},
		{"a digest that is not there", g.host + "/good@sha256:" + strings.Repeat("0", 64), yurt.CodeNotFound, "sha256:000"},
		{"another platform", g.push(t, "foreign:1", foreign), yurt.CodeNotSupported, "s390x"},
		{"a layer elsewhere", g.push(t, "elsewhere:1", elsewhere), yurt.CodeForbidden, "elsewhere"},
		{"too much in it", g.push(t, "bomb:1", layered(t, v1.Config{}, bomb)), yurt.CodeLimitOutOfRange, "layer 1"},
		{"a registry that is away", gone.host + "/x:1", yurt.CodeUnavailable, gone.host},
	}
	gone.misbehave(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
	s := open(t, Config{Registries: []string{g.host, gone.host}})
	s.limits.free, s.limits.ratio = 1<<16, 10
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Get(t.Context(), tt.text, "me", false, silent)
			if yurt.CodeOf(err) != tt.want || !strings.Contains(fmt.Sprint(err), tt.says) {
				t.Errorf("%v, %q; want %q", err, yurt.CodeOf(err), tt.want)
			}
		})
	}
	if get(t, s, good, "me") == nil {
		t.Error("nothing is had any more")
	}
	entries, err := os.ReadDir(s.config.Dir)
	if err != nil || len(entries) != 2 { // the image, and the file that resolves references
		t.Errorf("left are %v, %v", entries, err)
	}
}

// TestSpoilt has a registry that sends other content than the digests name.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"manifests", "blobs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := newLoopback(t)
			image := layered(t, v1.Config{}, archive(t, file("a", "1")))
			g.push(t, "tool:1", image)
			other := layered(t, v1.Config{}, archive(t, file("a", "2")))
			g.push(t, "tool:2", other)
			digest, err := image.Digest()
			if err != nil {
				t.Fatal(err)
			}
			raw, err := other.RawManifest()
			if err != nil {
				t.Fatal(err)
			}
			g.misbehave(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/"+kind+"/") {
					return false
				}
				w.Header().Set("Content-Type", string(types.DockerManifestSchema2))
				_, _ = w.Write(raw)
				return true
			})
			s := open(t, Config{Registries: []string{g.host}})
			_, err = s.Get(t.Context(), g.host+"/tool@"+digest.String(), "me", false, silent)
			if yurt.CodeOf(err) != yurt.CodeArchiveInvalid {
				t.Errorf("%v, %q", err, yurt.CodeOf(err))
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	g := newLoopback(t)
	text := g.push(t, "tool:1", layered(t, v1.Config{}, archive(t, file("a", "1"))))
	g.misbehave(func(w http.ResponseWriter, r *http.Request) bool {
		if name, word, _ := r.BasicAuth(); name == "me" && word == "secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	path := filepath.Join(t.TempDir(), "config.json")
	s := open(t, Config{Registries: []string{g.host}, AuthFile: path})
	for _, tt := range []struct {
		file string
		want yurt.Code
	}{
		{"", yurt.CodeUnavailable},
		{"secret", yurt.CodeUnavailable},
		{`{}`, yurt.CodeForbidden},
		{`{"credsStore": "desktop"}`, yurt.CodeNotSupported},
		{`{"auths": {"` + g.host + `": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("me:wrong")) + `"}}}`, yurt.CodeForbidden},
		{`{"auths": {"http://` + g.host + `/v1/": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("me:secret")) + `"}}}`, ""},
	} {
		if tt.file != "" {
			if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.Get(t.Context(), text, "me", false, silent)
		if yurt.CodeOf(err) != tt.want || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("with %s: %v, %q", tt.file, err, yurt.CodeOf(err))
		}
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path, err := layout.Write(filepath.Join(root, "images"), mutate.AppendManifests(emptyIndex(), addendum(t, "one", "1"), addendum(t, "two", "2")))
	if err != nil {
		t.Fatal(err)
	}
	foreign := mutate.IndexAddendum{Add: layered(t, v1.Config{}, archive(t, file("a", "3"))), Descriptor: v1.Descriptor{
		Annotations: map[string]string{refName: "three"}, Platform: &v1.Platform{OS: "linux", Architecture: "s390x"},
	}}
	if err := path.AppendDescriptor(described(t, path, foreign)); err != nil {
		t.Fatal(err)
	}
	s := open(t, Config{Layouts: []string{root}})
	at := "oci:" + root + "/images"
	two := get(t, s, at+":two", "me")
	if data, err := os.ReadFile(filepath.Join(two.Root, "a")); string(data) != "2" {
		t.Errorf("%q, %v", data, err)
	}
	if again := get(t, s, two.Reference, "me"); again.Root != two.Root {
		t.Errorf("%s is %+v", two.Reference, again)
	}
	for text, want := range map[string]yurt.Code{
		at:             yurt.CodeInvalidArgument, // there are two
		at + ":four":   yurt.CodeNotFound,
		at + ":three":  yurt.CodeNotFound, // of this platform
		at + "@" + "x": yurt.CodeInvalidArgument,
		at + "@sha256:" + strings.Repeat("0", 64): yurt.CodeNotFound,
		"oci:" + root:               yurt.CodeNotFound,
		"oci:" + root + "/none":     yurt.CodeInvalidArgument,
		"oci:" + root + "/../etc/x": yurt.CodeInvalidArgument,
	} {
		if _, err := s.Get(t.Context(), text, "me", false, silent); yurt.CodeOf(err) != want {
			t.Errorf("%s: %v, %q; want %q", text, err, yurt.CodeOf(err), want)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "oci:"+root+"/out", "me", false, silent); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("a link that leads out: %v", err)
	}
	if runtime.GOARCH == "s390x" {
		t.Fatal("the foreign platform is this one; choose another")
	}
}

// TestRoom removes unused images to make room.
func TestRoom(t *testing.T) {
	t.Parallel()
	g := newLoopback(t)
	s := open(t, Config{Registries: []string{g.host}, KeepBytes: 250 << 10})
	var images []*Image
	for i := range 3 {
		content := strings.Repeat(fmt.Sprint(i), 100<<10)
		text := g.push(t, fmt.Sprintf("tool:%d", i), layered(t, v1.Config{}, archive(t, file("a", content))))
		images = append(images, get(t, s, text, fmt.Sprint("user ", i)))
		if i == 0 {
			s.Release("user 0")
		}
	}
	for i, image := range images {
		again, err := s.Use(image.Key, "me")
		if err != nil || (again != nil) != (i > 0) {
			t.Errorf("image %d is there: %v, %v", i, again, err)
		}
	}
}
