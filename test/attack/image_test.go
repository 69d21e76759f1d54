package attack

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestHostileImages has nodes take images that were made to attack them: the unpacked files stay in
// the images' directory, and their programs can do no more than those of any sandbox.
func TestHostileImages(t *testing.T) {
	testutil.NeedsSandboxes(t)
	registry := testutil.StartRegistry(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	config.Images = images.Config{Registries: []string{registry.Host}}
	e := testutil.Start(t, config)
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, []byte("whole"), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(canary)
	layer := testutil.HostLayer(t, []string{"/bin/sh", "/bin/cat", "/usr/bin/id", "/usr/bin/touch", "/bin/mount", "/bin/umount", "/usr/bin/chmod", "/usr/bin/stat"})
	evil := map[string]string{}
	links := []tar.Header{
		{Typeflag: tar.TypeSymlink, Name: "out", Linkname: dir},
		{Typeflag: tar.TypeSymlink, Name: "up", Linkname: strings.Repeat("../", 40) + dir[1:]},
		{Typeflag: tar.TypeSymlink, Name: "canary", Linkname: canary},
		{Typeflag: tar.TypeSymlink, Name: "proc", Linkname: dir},
		{Typeflag: tar.TypeSymlink, Name: "workspace", Linkname: "/etc"},
		{Typeflag: tar.TypeSymlink, Name: "dev", Linkname: dir},
		{Typeflag: tar.TypeSymlink, Name: "etc/resolv.conf", Linkname: canary},
		{Typeflag: tar.TypeReg, Name: "usr/bin/rooted", Mode: 0o6755},
		{Typeflag: tar.TypeChar, Name: "opt/mem", Mode: 0o666, Devmajor: 1, Devminor: 1},
		{Typeflag: tar.TypeReg, Name: ".yurt-init", Mode: 0o777},
	}
	binary, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	evil["usr/bin/rooted"], evil[".yurt-init"] = string(binary), "#!/bin/sh\n"

	// Layers that lead out of the image are refused, or end in it.
	for name, above := range map[string][]tar.Header{
		"by name":       {{Typeflag: tar.TypeReg, Name: "../../../../../.." + canary}},
		"by link":       {{Typeflag: tar.TypeReg, Name: "out/canary"}, {Typeflag: tar.TypeReg, Name: "up/canary"}},
		"by whiteout":   {{Typeflag: tar.TypeReg, Name: "out/.wh.canary"}, {Typeflag: tar.TypeReg, Name: "up/.wh..wh..opq"}},
		"by hard link":  {{Typeflag: tar.TypeLink, Name: "mine", Linkname: canary}, {Typeflag: tar.TypeReg, Name: "mine"}},
		"by both":       {{Typeflag: tar.TypeLink, Name: "mine", Linkname: "canary"}, {Typeflag: tar.TypeReg, Name: "mine"}},
		"by its parent": {{Typeflag: tar.TypeReg, Name: "out/../../canary"}, {Typeflag: tar.TypeDir, Name: "out"}, {Typeflag: tar.TypeReg, Name: "out/canary"}},
	} {
		reference, _ := registry.Push(t, strings.ReplaceAll(name, " ", "-")+":1", testutil.ImageConfig{}, testutil.Tar(t, append(links[:3:3], tar.Header{Typeflag: tar.TypeReg, Name: canary[1:]}), nil), testutil.Tar(t, above, nil))
		_, err := e.PrepareImage(t.Context(), reference, func(string) error { return nil })
		if code := yurt.CodeOf(err); err != nil && code != yurt.CodeArchiveInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if data, err := os.ReadFile(canary); err != nil || string(data) != "whole" {
			t.Fatalf("%s: a file of the node holds %q, %v", name, data, err)
		}
	}

	reference, _ := registry.Push(t, "evil:1", testutil.ImageConfig{User: "root", Env: []string{"LD_PRELOAD=/nowhere.so"}}, layer, testutil.Tar(t, links, evil))
	spec := testutil.Spec()
	spec.Template.RootFS = yurt.RootFS{Image: reference}
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	a := &arena{Executor: e}
	for program, want := range map[string]string{
		"id -u; rooted -c 'id -u; id -ru'":                       "1000\n1000\n1000\n",
		"cat /canary /etc/resolv.conf /dev/canary /proc/canary":  "",
		"touch /opt/x; chmod 777 /usr/bin/rooted; cat /opt/mem":  "",
		"mount -o remount,rw / || umount -l / || umount -l /etc": "",
		"stat -c %a /usr/bin/rooted; cat < /.yurt-init":          "755\n",
	} {
		r := a.execute(t, s.ID, shell(program))
		if r.Stdout != want {
			t.Errorf("%s printed %q, %q; want %q", program, r.Stdout, r.Stderr, want)
		}
	}
	if data, err := os.ReadFile(canary); err != nil || string(data) != "whole" {
		t.Errorf("a file of the node holds %q, %v", data, err)
	}
}
