package node_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestAttachedExecution(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("given"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	spec := testutil.Command("cat; echo kept >&2; head -c 50000000 /dev/zero; exit 5", func(s *yurt.ExecutionSpec) { s.OutputLimit = 10 })
	err = e.StartAttached(t.Context(), s.ID, spec, executor.Stdio{Stdin: stdin, Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(out)
	if err != nil || len(data) != 50000005 || !bytes.HasPrefix(data, []byte("given\x00")) {
		t.Errorf("%d bytes came, %v", len(data), err)
	}
	r := testutil.Wait(t, e, s.ID, spec.ID)
	if r.ExitCode != 5 || r.Stdout != "" || r.Stderr != "kept\n" || r.Truncated.Stdout {
		t.Errorf("got exit %d, %d bytes, stderr %q, %+v", r.ExitCode, len(r.Stdout), r.Stderr, r.Truncated)
	}
}

// TestDescriptorsThatAreNotHandedIn are those through which untrusted code could do
// more than read its input and write its output.
func TestDescriptorsThatAreNotHandedIn(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	open := func(name string, flags int) *os.File {
		t.Helper()
		file, err := os.OpenFile(name, flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	path := filepath.Join(dir, "file")
	writable := open(path, os.O_CREATE|os.O_WRONLY)
	for name, stdio := range map[string]executor.Stdio{
		"a directory":                     {Stdin: open(dir, os.O_RDONLY)},
		"a socket":                        {Stdout: socket},
		"a terminal":                      {Stdout: open("/dev/ptmx", os.O_RDWR)},
		"memory of the kernel":            {Stdin: open("/dev/zero", os.O_RDONLY)},
		"a file to read and to write":     {Stdout: open(path, os.O_RDWR)},
		"a file to read, as stdout":       {Stdout: open(path, os.O_RDONLY)},
		"a file to write, as stdin":       {Stdin: writable},
		"a descriptor and a terminal":     {Stderr: writable},
		"a descriptor beside given stdin": {Stdin: open(path, os.O_RDONLY)},
	} {
		spec := testutil.Command("true")
		switch name {
		case "a descriptor and a terminal":
			terminal(&spec)
		case "a descriptor beside given stdin":
			spec.Stdin = []byte("x")
		}
		if err := e.StartAttached(t.Context(), s.ID, spec, stdio); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	null := open(os.DevNull, os.O_WRONLY)
	spec := testutil.Command("echo x; echo y >&2")
	if err := e.StartAttached(t.Context(), s.ID, spec, executor.Stdio{Stdout: null, Stderr: writable}); err != nil {
		t.Fatal(err)
	}
	testutil.Wait(t, e, s.ID, spec.ID)
	if data, err := os.ReadFile(path); err != nil || string(data) != "y\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}
