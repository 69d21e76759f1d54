package node_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// given are files of all kinds that a sandbox can be asked for with.
func given() []yurt.SourceFile {
	return []yurt.SourceFile{
		{Path: "a b.txt", Data: []byte("s3cret text\n")},
		{Path: "dir/sub/ü.bin", Data: []byte{0xff, 0, '\n'}},
		{Path: "empty", Data: []byte{}},
		{Path: "lib.py", Data: []byte("answer = 42")},
	}
}

// ways are the ways in which a caller gets a sandbox.
func ways() map[string]func(t *testing.T, e *executor.Executor, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	return map[string]func(*testing.T, *executor.Executor, yurt.SandboxSpec) (yurt.Sandbox, error){
		"made": func(t *testing.T, e *executor.Executor, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
			t.Helper()
			return e.CreateSandbox(t.Context(), spec)
		},
		"claimed": func(t *testing.T, e *executor.Executor, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
			t.Helper()
			reserveOne(t, e)
			s, found, err := e.ClaimSandbox(t.Context(), spec)
			if err == nil && !found {
				err = errors.New("none was found")
			}
			return s, err
		},
		"of a slot": func(t *testing.T, e *executor.Executor, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
			t.Helper()
			spec.Labels = map[string]string{yurt.SessionLabel: "ses_1"}
			slot := yurt.SlotSpec{ID: "of-one", Template: spec.Template, Resources: spec.Resources, For: "ses_1", Once: true}
			if _, err := e.OpenSlot(t.Context(), slot); err != nil {
				t.Fatal(err)
			}
			return e.AwaitSandbox(t.Context(), spec, slot.ID)
		},
	}
}

// TestSandboxesBeginWithFiles: in each way a sandbox has the files, owned by its user, and the executor's records do not.
func TestSandboxesBeginWithFiles(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e := testutil.Start(t, config)
	for name, get := range ways() {
		t.Run(name, func(t *testing.T) {
			spec := testutil.Spec()
			spec.Files = given()
			s, err := get(t, e, spec)
			if err != nil {
				t.Fatal(err)
			}
			if s.Phases["files"] <= 0 || s.Phases["total"] < s.Phases["files"] {
				t.Errorf("its phases are %v", s.Phases)
			}
			r := testutil.Run(t, e, s.ID, `find . -printf '%P %m %U %G %s\n' | sort; cat 'a b.txt'; od -An -tx1 dir/sub/*; echo more >> 'a b.txt'`)
			want := " 755 1000 1000 .\na b.txt 644 1000 1000 12\ndir 755 1000 1000 .\ndir/sub 755 1000 1000 .\n" +
				"dir/sub/ü.bin 644 1000 1000 3\nempty 644 1000 1000 0\nlib.py 644 1000 1000 11\ns3cret text\n ff 00 0a\n"
			if got := withoutDirSizes(r.Stdout); got != want || r.ExitCode != 0 {
				t.Errorf("it has %q, want %q; %s", got, want, r.Stderr)
			}
			if r := testutil.Execute(t, e, s.ID, testutil.Python("import lib; print(lib.answer)")); r.Stdout != "42\n" {
				t.Errorf("code that imports one of them: %q, %q", r.Stdout, r.Stderr)
			}
			for _, dir := range []string{config.StateDir, statedir.RunDir(config.RunDir, config.StateDir)} {
				wantNowhere(t, dir, "answer = 42")
			}
			destroy(t, e, s.ID)
		})
	}
}

// withoutDirSizes takes out the sizes of directories, which are the file system's.
func withoutDirSizes(list string) string {
	var out strings.Builder
	for line := range strings.Lines(list) {
		if head, _, dir := strings.Cut(line, " 755 1000 1000 "); dir {
			line = head + " 755 1000 1000 .\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// wantNowhere looks for a text, also as JSON has bytes, in all files of a directory, of which
// there have to be some.
func wantNowhere(t *testing.T, dir, text string) {
	t.Helper()
	looked, coded := 0, base64.StdEncoding.EncodeToString([]byte(text))
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // a file that is gone meanwhile does not contain the text
		}
		looked++
		if data, err := os.ReadFile(path); err == nil && (bytes.Contains(data, []byte(text)) || bytes.Contains(data, []byte(coded))) {
			t.Errorf("%s has %q", path, text)
		}
		return nil
	})
	if err != nil || looked == 0 {
		t.Errorf("%d files of %s looked at, %v", looked, dir, err)
	}
}

func destroy(t *testing.T, e *executor.Executor, id string) {
	t.Helper()
	if err := e.DestroySandbox(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// TestFilesThatDoNotFit: the caller gets an error, and no sandbox stays that has some of the files.
func TestFilesThatDoNotFit(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	for name, get := range ways() {
		t.Run(name, func(t *testing.T) {
			spec := testutil.Spec()
			spec.Resources.Disk = 1 << 20
			for n := range 3 {
				spec.Files = append(spec.Files, yurt.SourceFile{Path: fmt.Sprint("part-", n), Data: make([]byte, 500<<10)})
			}
			_, err := get(t, e, spec)
			var coded *yurt.Error
			if !errors.As(err, &coded) || coded.Code != yurt.CodeWorkspaceFull || coded.Field != "files" || !strings.Contains(coded.Message, "part-2") {
				t.Errorf("error %v", err)
			}
			if err := e.CloseSlot(t.Context(), "of-one"); err != nil {
				t.Error(err)
			}
			testutil.Eventually(t, "no sandbox is left", func() bool {
				list, err := e.Sandboxes(t.Context())
				return err == nil && len(list) == 0
			})
		})
	}
}

// TestFilesThatAreRefused: invalid files do not use up a sandbox.
func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	reserveOne(t, e)
	many := make([]yurt.SourceFile, yurt.MaxFiles+1)
	for n := range many {
		many[n].Path = fmt.Sprint(n)
	}
	for name, files := range map[string][]yurt.SourceFile{
		"out":      {{Path: "../a"}},
		"absolute": {{Path: "/workspace/a"}},
		"deep":     {{Path: strings.Repeat("d/", yurt.MaxFileDepth+1) + "a"}},
		"many":     many,
		"large":    {{Path: "a", Data: make([]byte, yurt.MaxFilesBytes+1)}},
	} {
		spec := testutil.Spec()
		spec.Files = files
		var coded *yurt.Error
		if _, found, err := e.ClaimSandbox(t.Context(), spec); found || !errors.As(err, &coded) || coded.Field != "files" {
			t.Errorf("%s: claimed %t, %v", name, found, err)
		}
		if _, err := e.CreateSandbox(t.Context(), spec); !errors.As(err, &coded) || coded.Field != "files" {
			t.Errorf("%s: made, %v", name, err)
		}
	}
	if list, err := e.Sandboxes(t.Context()); err != nil || len(list) != 1 || !list[0].Warm {
		t.Errorf("the sandboxes are %+v, %v", list, err)
	}
}

// TestAskedAgainForFiles: a repeated request for the sandbox of a slot gets it with all of the files, although the
// first answer, and the writing of the files, may have been cut off.
func TestAskedAgainForFiles(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	spec := testutil.Spec()
	spec.Files = given()
	first, err := ways()["of a slot"](t, e, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.RemoveFile(t.Context(), first.ID, "dir", true); err != nil {
		t.Fatal(err)
	}
	spec.Labels = map[string]string{yurt.SessionLabel: "ses_1"}
	again, err := e.AwaitSandbox(t.Context(), spec, "of-one")
	if err != nil || again.ID != first.ID {
		t.Fatalf("it got %s, %v; had %s", again.ID, err, first.ID)
	}
	if r := testutil.Run(t, e, again.ID, "ls dir/sub"); r.Stdout != "ü.bin\n" {
		t.Errorf("it has %q, %s", r.Stdout, r.Stderr)
	}
}
