package rootfs

import (
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// host makes a directory with some typical files of a host.
func host(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"usr/bin", "usr/lib", "etc/ssl/certs", "secret"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"bin": "usr/bin", "lib": root + "/usr/lib", "loop": "loop", "out": root + "/secret",
		"usr/secret": "../secret", "dangling": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"etc/ld.so.cache", "usr/bin/sh", "secret/key"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("of the host"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFromHost(t *testing.T) {
	root := host(t)
	l, err := FromHost([]string{root + "/usr", root + "/bin", root + "/lib", root + "/etc/ld.so.cache", root + "/lib32"}, []string{root})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{root + "/usr", root + "/etc/ld.so.cache"}; !slices.Equal(l.Binds, want) {
		t.Errorf("it binds %q, want %q", l.Binds, want)
	}
	if want := []layout.Link{{Path: root + "/bin", Target: "usr/bin"}, {Path: root + "/lib", Target: root + "/usr/lib"}}; !slices.Equal(l.Links, want) {
		t.Errorf("it links %v, want %v", l.Links, want)
	}
	for _, dir := range []string{"/proc", "/dev", "/tmp", "/etc", "/run", RunDir, yurt.WorkspaceDir, root + "/usr", root + "/etc"} {
		if !slices.Contains(l.Dirs, dir) {
			t.Errorf("it has no directory %s", dir)
		}
	}
	for _, dir := range []string{"/root", "/home", "/var", "/boot", "/sys", "/mnt", "/opt", "/srv", root + "/lib32", root + "/secret"} {
		if slices.Contains(l.Dirs, dir) {
			t.Errorf("it has a directory %s", dir)
		}
	}
	// The mount point of a file is empty: its content is not copied anywhere.
	i := slices.IndexFunc(l.Files, func(f layout.File) bool { return f.Path == root+"/etc/ld.so.cache" })
	if i < 0 || l.Files[i].Data != "" {
		t.Errorf("the file to bind over: %d in %v", i, l.Files)
	}
}

// TestEtcTellsNothingOfTheHost has an /etc that is the same on every host.
func TestEtcTellsNothingOfTheHost(t *testing.T) {
	l, err := FromHost(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var passwd string
	for _, f := range l.Files {
		if name != "localhost" && strings.Contains(f.Data, name) {
			t.Errorf("%s holds the host's name", f.Path)
		}
		if path.Dir(f.Path) != "/etc" {
			t.Errorf("it has a file %s", f.Path)
		}
		if f.Path == "/etc/passwd" {
			passwd = f.Data
		}
	}
	if !strings.Contains(passwd, "\n"+UserName+":x:1000:1000:") || strings.Count(passwd, ":0:") != 1 {
		t.Errorf("the users are\n%s", passwd)
	}
	if len(l.Binds) != 0 || len(l.Links) != 0 {
		t.Errorf("of nothing it made %v and %v", l.Binds, l.Links)
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	root := host(t)
	socket, err := net.Listen("unix", root+"/usr/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	allowed := []string{root + "/usr", root + "/loop", root + "/out", root + "/dangling", root + "/lib"}
	tests := []struct {
		name, path string
		want       yurt.Code
	}{
		{"not offered", root + "/secret", yurt.CodeForbidden},
		{"not offered, and not there", root + "/secret/none", yurt.CodeForbidden},
		{"above what is offered", root, yurt.CodeForbidden},
		{"the whole host", "/", yurt.CodeForbidden},
		{"with a name that begins alike", root + "/usr2", yurt.CodeForbidden},
		{"a link that leads out", root + "/out", yurt.CodeForbidden},
		{"a link below that leads out", root + "/usr/secret", yurt.CodeForbidden},
		{"below a link that leads out", root + "/usr/secret/key", yurt.CodeForbidden},
		{"out and in again", root + "/usr/../secret", yurt.CodeTemplateInvalid},
		{"not clean", root + "/usr//bin", yurt.CodeTemplateInvalid},
		{"relative", "usr", yurt.CodeTemplateInvalid},
		{"empty", "", yurt.CodeTemplateInvalid},
		{"a link to itself", root + "/loop", yurt.CodeTemplateInvalid},
		{"below a file", root + "/usr/bin/sh/x", yurt.CodeTemplateInvalid},
		{"below a link", root + "/lib/x", ""}, // which is not there
		{"a socket", root + "/usr/socket", yurt.CodeTemplateInvalid},
		{"a link to nothing", root + "/dangling", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := FromHost([]string{tt.path}, allowed)
			if yurt.CodeOf(err) != tt.want {
				t.Errorf("%s gave %v, want %q", tt.path, err, tt.want)
			}
			if len(l.Binds) != 0 {
				t.Errorf("it binds %q", l.Binds)
			}
		})
	}
	if err := os.WriteFile(root+"/usr/lib/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FromHost([]string{root + "/lib/x"}, allowed); yurt.CodeOf(err) != yurt.CodeTemplateInvalid {
		t.Errorf("what is below a link: %v", err)
	}
}

// TestLayoutProperty: for any requested paths of the host, the layout can be carried out from top to bottom and binds
// only paths that are offered.
func TestLayoutProperty(t *testing.T) {
	root := host(t)
	var all []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID[string]).Draw(t, "paths")
		allowed := rapid.SliceOf(rapid.SampledFrom(all)).Draw(t, "allowed")
		l, err := FromHost(paths, allowed)
		if err != nil {
			return
		}
		made := map[string]bool{"/": true}
		for _, dir := range l.Dirs {
			if made[dir] || !made[path.Dir(dir)] {
				t.Fatalf("%s comes twice or before its parent in %q", dir, l.Dirs)
			}
			made[dir] = true
		}
		for _, link := range l.Links {
			if made[link.Path] || !made[path.Dir(link.Path)] {
				t.Fatalf("the link %s cannot be made in %q", link.Path, l.Dirs)
			}
			made[link.Path] = true
		}
		for _, bind := range l.Binds {
			real, err := filepath.EvalSymlinks(bind)
			if err != nil || !slices.Contains(paths, bind) {
				t.Fatalf("%s was not asked for: %v", bind, err)
			}
			if !slices.ContainsFunc(allowed, func(a string) bool { return real == a || strings.HasPrefix(real, a+"/") }) {
				t.Fatalf("%s is %s, which is not below any of %q", bind, real, allowed)
			}
		}
	})
}

// TestLinkTakesThePlaceOfAFile: a file of the sandbox's own cannot be made where a link of the host is made again.
func TestLinkTakesThePlaceOfAFile(t *testing.T) {
	root := host(t)
	had := []layout.File{{Path: root + "/bin"}, {Path: root + "/other"}}
	l := builder{layout.Layout{Files: had}}
	if err := l.host(root+"/bin", []string{root}); err != nil {
		t.Fatal(err)
	}
	if len(l.Links) != 1 || !slices.Equal(l.Files, []layout.File{{Path: root + "/other"}}) {
		t.Errorf("it has the links %v and the files %v", l.Links, l.Files)
	}
	if had[0].Path != root+"/bin" {
		t.Error("another layout with the same files lost one")
	}
}
