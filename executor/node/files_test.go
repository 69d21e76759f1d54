package node_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	info, err := e.WriteFile(t.Context(), s.ID, "dir/sub/file.txt", strings.NewReader("content"), yurt.WriteOptions{})
	if err != nil || info.Size != 7 || info.Path != "dir/sub/file.txt" {
		t.Fatalf("writing gave %+v, %v", info, err)
	}
	if r := testutil.Run(t, e, s.ID, "cat dir/sub/file.txt; stat -c '%U %a' dir/sub/file.txt; echo more >> dir/sub/file.txt; ls -A dir/sub"); r.Stdout != "contentuser 644\nfile.txt\n" {
		t.Errorf("inside it is %q (%s)", r.Stdout, r.Stderr)
	}
	for _, path := range []string{"dir/sub/file.txt", "/workspace/dir/sub/file.txt", "./dir//sub/file.txt"} {
		content, _, err := e.ReadFile(t.Context(), s.ID, path, yurt.Span{})
		if err != nil {
			t.Fatalf("reading %s: %v", path, err)
		}
		data, err := io.ReadAll(content)
		content.Close()
		if string(data) != "contentmore\n" || err != nil {
			t.Errorf("reading %s gave %q, %v", path, data, err)
		}
	}
}

func TestFilesNeverLeadOut(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	testutil.Run(t, e, s.ID, `ln -s /etc/passwd link; ln -s / root; ln -s ../../etc up; ln -s loop loop; ln -s /proc/self/root proc
		mkfifo fifo; mkdir dir; echo inside > real; ln -s real alias; mkdir locked; echo x > locked/f; chmod 000 locked`)
	reads := []struct {
		path string
		want yurt.Code
	}{
		{"link", yurt.CodePathOutsideWorkspace},
		{"root/etc/passwd", yurt.CodePathOutsideWorkspace},
		{"up/passwd", yurt.CodePathOutsideWorkspace},
		{"proc/etc/passwd", yurt.CodePathOutsideWorkspace},
		{"../etc/passwd", yurt.CodePathOutsideWorkspace},
		{"dir/../../etc/passwd", yurt.CodePathOutsideWorkspace},
		{"/etc/passwd", yurt.CodePathOutsideWorkspace},
		{"loop", yurt.CodeInvalidPath},
		{"fifo", yurt.CodeNotAFile},
		{"dir", yurt.CodeNotAFile},
		{"none", yurt.CodeFileNotFound},
		{"real/below", yurt.CodeNotAFile},
		{"locked/f", yurt.CodeInvalidPath},
		{"a\x00b", yurt.CodeInvalidPath},
		{"a\nb", yurt.CodeInvalidPath},
		{"", yurt.CodeInvalidPath},
		{strings.Repeat("x", 5000), yurt.CodeInvalidPath},
		{strings.Repeat("x", 300), yurt.CodeInvalidPath},
	}
	for _, tt := range reads {
		content, _, err := e.ReadFile(t.Context(), s.ID, tt.path, yurt.Span{})
		if yurt.CodeOf(err) != tt.want {
			t.Errorf("reading %q gave %v (%s), want %s", tt.path, err, yurt.CodeOf(err), tt.want)
		}
		if err == nil {
			content.Close()
		}
	}
	for path, want := range map[string]yurt.Code{
		"root/tmp/x": yurt.CodePathOutsideWorkspace,
		"../x":       yurt.CodePathOutsideWorkspace,
		"dir":        yurt.CodeNotAFile,
		"real/x":     yurt.CodeNotAFile,
		"locked/x":   yurt.CodeInvalidPath,
	} {
		if _, err := e.WriteFile(t.Context(), s.ID, path, strings.NewReader("x"), yurt.WriteOptions{}); yurt.CodeOf(err) != want {
			t.Errorf("writing %q gave %v (%s), want %s", path, err, yurt.CodeOf(err), want)
		}
	}
	// A link as the last part is replaced, never written through.
	if _, err := e.WriteFile(t.Context(), s.ID, "link", strings.NewReader("mine"), yurt.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if content, _, err := e.ReadFile(t.Context(), s.ID, "alias", yurt.Span{}); err != nil {
		t.Errorf("a link that stays inside is refused: %v", err)
	} else {
		content.Close()
	}
}

// TestFilesWhileLinksMove swaps a directory for a link to / while the host uses it.
func TestFilesWhileLinksMove(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	game := testutil.Command(`mkdir a b; while :; do mv a c; ln -s /etc a; echo x > b/passwd; rm a; mv c a; done`, testutil.Timeout(time.Minute))
	if err := e.StartExecution(t.Context(), s.ID, game); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Second)
	for time.Now().Before(deadline) {
		if content, _, err := e.ReadFile(t.Context(), s.ID, "a/passwd", yurt.Span{}); err == nil {
			data, _ := io.ReadAll(content)
			content.Close()
			if strings.Contains(string(data), "root:") {
				t.Fatal("it read the /etc/passwd of the root file system")
			}
		}
		e.WriteFile(t.Context(), s.ID, "a/hosts-new", strings.NewReader("x"), yurt.WriteOptions{})
	}
	if r := testutil.Run(t, e, s.ID, "ls /etc/hosts-new 2>/dev/null; echo end"); r.Stdout != "end\n" {
		t.Errorf("it wrote to /etc: %q", r.Stdout)
	}
}
