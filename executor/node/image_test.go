package node_test

import (
	"archive/tar"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/test/testutil"
)

// withImages is the configuration of an executor that takes images from the registry.
func withImages(t *testing.T, registry *testutil.Registry) executor.Config {
	t.Helper()
	config := testutil.Config(t, testutil.Build(t))
	config.Images = images.Config{Registries: []string{registry.Host}}
	return config
}

// ofImage has the sandbox made of an image.
func ofImage(reference string) func(*yurt.SandboxSpec) {
	return func(s *yurt.SandboxSpec) { s.Template.RootFS = yurt.RootFS{Image: reference} }
}

// shellLayer has a shell and a few tools of this machine.
func shellLayer(t *testing.T) []byte {
	t.Helper()
	return testutil.HostLayer(t, []string{"/bin/sh", "/bin/cat", "/bin/ls", "/usr/bin/id", "/usr/bin/touch", "/usr/bin/stat", "/usr/bin/env"})
}

// TestImage has a sandbox whose root is an image: its programs are those of the image.
func TestImage(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	registry := testutil.StartRegistry(t)
	reference, _ := registry.Push(t, "shell:1", testutil.ImageConfig{Env: []string{"FROM=image", "BOTH=image", "PATH=/usr/bin:/opt"}, User: "daemon", WorkingDir: "/opt"}, shellLayer(t), testutil.Tar(t, []tar.Header{
		{Typeflag: tar.TypeReg, Name: "opt/hello", Mode: 0o700},
		{Typeflag: tar.TypeReg, Name: "etc/hosts", Mode: 0o644},
		{Typeflag: tar.TypeReg, Name: "etc/secret", Mode: 0o600},
		{Typeflag: tar.TypeReg, Name: "workspace/mine"},
		{Typeflag: tar.TypeSymlink, Name: "tmp", Linkname: "/etc"},
		{Typeflag: tar.TypeReg, Name: "etc/passwd"},
		{Typeflag: tar.TypeSymlink, Name: "proc", Linkname: "/etc"},
		{Typeflag: tar.TypeReg, Name: ".yurt-init", Mode: 0o755},
	}, map[string]string{"opt/hello": "#!/bin/sh\necho hello from the image\n", "etc/hosts": "of the image", "etc/secret": "readable", "etc/passwd": "root:x:0:0::/:/bin/sh\n", ".yurt-init": "#!/bin/sh\n"}))
	config := withImages(t, registry)
	config.Transient = true
	e := testutil.Start(t, config)
	s := testutil.Create(t, e, ofImage(reference), func(s *yurt.SandboxSpec) { s.Template.Env = map[string]string{"BOTH": "template"} })
	r := testutil.Run(t, e, s.ID, `hello; echo $FROM $BOTH; cat /etc/secret; ls /workspace; cat /etc/hosts; id -un; touch /etc/x /opt/x || touch /tmp/x /workspace/y && ls /tmp /proc/self/comm; ls -d /usr/lib/python3 /root`)
	want := "hello from the image\nimage template\nreadable127.0.0.1 localhost\n::1 localhost\nuser\n/proc/self/comm\n\n/tmp:\nx\n"
	if r.Stdout != want || !strings.Contains(r.Stderr, "Read-only file system") || r.ExitCode == 0 {
		t.Errorf("inside: %q %q %+v; want %q", r.Stdout, r.Stderr, r.Error, want)
	}
	// A command is in the image's working directory, unless it names one or brings files.
	for cwd, want := range map[string]string{"": "/opt\n", "/etc": "/etc\n"} {
		if r := testutil.Execute(t, e, s.ID, testutil.Command("pwd", func(spec *yurt.ExecutionSpec) { spec.Cwd = cwd })); r.Stdout != want {
			t.Errorf("with cwd %q it is in %q, %+v", cwd, r.Stdout, r.Error)
		}
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Command("pwd; cat brought", func(spec *yurt.ExecutionSpec) { spec.Files = []yurt.SourceFile{{Path: "brought", Data: []byte("x")}} })); r.Stdout != "/workspace\nx" {
		t.Errorf("with files it is in %q, %+v", r.Stdout, r.Error)
	}
	// A second sandbox of the image shares its layout, and begins without the files of the first.
	second := testutil.Create(t, e, ofImage(reference))
	if r := testutil.Run(t, e, second.ID, "ls /workspace /tmp"); r.Stdout != "/tmp:\n\n/workspace:\n" {
		t.Errorf("in a second one: %q %q", r.Stdout, r.Stderr)
	}
	for name, spec := range map[string]func(*yurt.SandboxSpec){
		"not allowed":    ofImage("registry.example.com/shell:1"),
		"image and host": func(s *yurt.SandboxSpec) { s.Template.RootFS.Image = reference },
		"through a link": func(s *yurt.SandboxSpec) {
			ofImage(reference)(s)
			withHost(yurt.HostAccess{Mounts: []yurt.Mount{{Source: t.TempDir(), Target: "/lib/x"}}})(s)
		},
		"not in registry":  ofImage(registry.Host + "/shell:2"),
		"no digest of its": ofImage(registry.Host + "/shell@sha256:" + strings.Repeat("0", 64)),
	} {
		spec2 := testutil.Spec()
		spec(&spec2)
		if _, err := e.CreateSandbox(t.Context(), spec2); err == nil || yurt.CodeOf(err) == yurt.CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImageWithMounts has the node's directories in places that the image has, and has not.
func TestImageWithMounts(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	registry := testutil.StartRegistry(t)
	reference, _ := registry.Push(t, "shell:1", testutil.ImageConfig{}, shellLayer(t), testutil.Tar(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "srv/data/old"}}, nil))
	config := withImages(t, registry)
	config.Transient = true
	e := testutil.Start(t, config)
	source := t.TempDir()
	s := testutil.Create(t, e, ofImage(reference), withHost(yurt.HostAccess{Mounts: []yurt.Mount{
		{Source: source, Target: "/srv/data", ReadOnly: true}, {Source: source, Target: "/new/place", ReadOnly: true},
	}}))
	if r := testutil.Run(t, e, s.ID, "ls /srv/data /new/place && ls /srv"); r.Stdout != "/new/place:\n\n/srv/data:\ndata\n" {
		t.Errorf("inside: %q %q", r.Stdout, r.Stderr)
	}
}

// TestImageAfterRestart has an executor take over a sandbox of an image, which no room is
// made for while it lives, and whose registry is away.
func TestImageAfterRestart(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	registry := testutil.StartRegistry(t)
	reference, _ := registry.Push(t, "shell:1", testutil.ImageConfig{Env: []string{"FROM=image"}}, shellLayer(t))
	big, _ := registry.Push(t, "big:1", testutil.ImageConfig{}, testutil.Tar(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "big"}}, map[string]string{"big": strings.Repeat("x", 20<<20)}))
	config := withImages(t, registry)
	config.Images.KeepBytes = 21 << 20
	e := testutil.Open(t, config)
	spec := testutil.Spec()
	ofImage(reference)(&spec)
	if _, err := e.CreateSandbox(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = testutil.Start(t, config)
	tell := func(string) error { return nil }
	if _, err := e.PrepareImage(t.Context(), big, tell); err != nil {
		t.Fatal(err)
	}
	registry.Close()
	for range 2 {
		if r := testutil.Run(t, e, spec.ID, "echo $FROM && ls /usr/bin/stat"); r.Stdout != "image\n/usr/bin/stat\n" {
			t.Errorf("inside: %q %q", r.Stdout, r.Stderr)
		}
	}
	other := testutil.Create(t, e, ofImage(reference))
	for _, id := range []string{spec.ID, other.ID} {
		if err := e.DestroySandbox(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.PrepareImage(t.Context(), registry.Host+"/none:1", tell); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("from a registry that is away: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(config.StateDir, "images", "*", "layer.json"))
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestImageThatComesAgain has an image removed for another, and pulled to the same place.
func TestImageThatComesAgain(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	registry := testutil.StartRegistry(t)
	shell := shellLayer(t)
	var references []string
	for _, name := range []string{"one", "two"} {
		reference, _ := registry.Push(t, name+":1", testutil.ImageConfig{}, shell, testutil.Tar(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "name"}}, map[string]string{"name": name}))
		references = append(references, reference)
	}
	config := withImages(t, registry)
	config.Transient = true
	config.Images.KeepBytes = int64(len(shell)) + 100<<10 // room for one
	e := testutil.Start(t, config)
	for range 2 {
		for i, want := range []string{"one", "two"} {
			s := testutil.Create(t, e, ofImage(references[i]))
			if r := testutil.Run(t, e, s.ID, "cat /name"); r.Stdout != want {
				t.Errorf("in %s: %q %q", want, r.Stdout, r.Stderr)
			}
			if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(config.StateDir, "images", "*", "layer.json"))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestImageRunsCode has the interpreter of a language found in the image, and not the node's.
func TestImageRunsCode(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	registry := testutil.StartRegistry(t)
	libraries, err := filepath.Glob("/usr/lib/python3.[0-9]*")
	if err != nil || len(libraries) == 0 {
		t.Fatalf("this machine has no Python to make an image of: %v", err)
	}
	snake, _ := registry.Push(t, "python:1", testutil.ImageConfig{Env: []string{"PYTHON_VERSION=3"}}, testutil.HostLayer(t, []string{"/usr/bin/python3"}, libraries...),
		testutil.Tar(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "marker"}}, map[string]string{"marker": "of the image"}))
	bare, _ := registry.Push(t, "bare:1", testutil.ImageConfig{}, shellLayer(t))
	config := withImages(t, registry)
	config.Transient = true
	e := testutil.Start(t, config)
	s := testutil.Create(t, e, ofImage(snake))
	for _, in := range []string{"", "kept"} {
		r := testutil.Execute(t, e, s.ID, testutil.Python("import json; print(json.dumps(open('/marker').read()))", func(s *yurt.ExecutionSpec) { s.ContextName = in }))
		if r.Stdout != "\"of the image\"\n" {
			t.Errorf("in context %q: %q %q %+v", in, r.Stdout, r.Stderr, r.Error)
		}
	}
	none := testutil.Create(t, e, ofImage(bare))
	err = e.StartExecution(t.Context(), none.ID, testutil.Python("1"))
	if yurt.CodeOf(err) != yurt.CodeLanguageNotSupported {
		t.Errorf("without an interpreter: %v", err)
	}
}
