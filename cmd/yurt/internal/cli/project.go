package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// Source is code to run: the text of one file, or the files of a directory with the
// one among them to run.
type Source struct {
	Name  string // of the file that is run
	Code  string
	Files []yurt.SourceFile
	Entry string
}

// Text is that of the file that is run.
func (s Source) Text() string {
	for _, f := range s.Files {
		if f.Path == s.Entry {
			return string(f.Data)
		}
	}
	return s.Code
}

// ReadSource reads a file, standard input for "-", or a directory, whose entry is the
// one given or found by its name.
func (a *App) ReadSource(name, entry string) (Source, error) {
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		return a.readProject(name, entry)
	}
	if entry != "" {
		return Source{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--entry", "%s is one file, which is run; give a directory to choose in", name)
	}
	code, err := a.ReadInput(name, yurt.MaxCodeBytes)
	if err == nil && !utf8.Valid(code) { // JSON would make other characters of it
		err = yurt.Errorf(yurt.CodeFileNotFound, "%s has bytes in line %d that are not UTF-8, as code has to be; convert it, or put it into a directory and give that", name, firstInvalidLine(code))
	}
	return Source{Name: name, Code: string(code)}, err
}

func firstInvalidLine(text []byte) int {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !utf8.Valid(line) {
			break
		}
	}
	return number
}

// Gathered are files of this machine that go along with a request.
type Gathered struct {
	Files []yurt.SourceFile
	bytes int64
}

// Gather reads one more, which has the path where it goes.
func (a *App) Gather(g *Gathered, file, path string) error {
	if len(g.Files) == yurt.MaxFiles {
		return yurt.Errorf(yurt.CodeLimitOutOfRange, "%s is one more than the %d files that may go along; give fewer, and copy the others into a session", file, yurt.MaxFiles)
	}
	data, err := a.ReadInput(file, yurt.MaxFilesBytes-g.bytes)
	if yurt.CodeOf(err) == yurt.CodeFileTooLarge {
		return yurt.Errorf(yurt.CodeFileTooLarge, "with %s the files have more than the %s that may go along; give fewer, and copy the others into a session", file, yurt.Size(yurt.MaxFilesBytes))
	}
	if err != nil {
		return err
	}
	g.bytes += int64(len(data))
	g.Files = append(g.Files, yurt.SourceFile{Path: path, Data: data})
	return nil
}

// readProject reads the files in a directory, which may be a link to one, and below it, but for
// hidden ones.
func (a *App) readProject(dir, entry string) (Source, error) {
	var found Gathered
	err := fs.WalkDir(os.DirFS(dir), ".", func(inside string, entry fs.DirEntry, err error) error {
		file := filepath.Join(dir, inside)
		if err != nil {
			return Unreadable(file, err)
		}
		if hidden := strings.HasPrefix(entry.Name(), ".") && inside != "."; hidden || !entry.Type().IsRegular() {
			if hidden && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return a.Gather(&found, file, inside)
	})
	if err != nil {
		return Source{}, err
	}
	project := Source{Files: found.Files}
	if project.Entry, err = findEntry(dir, project.Files, entry); err != nil {
		return Source{}, err
	}
	project.Name = project.Entry
	return project, nil
}

// findEntry returns the file to run: the one that was named, or else main, index, app or handler
// with any extension, beside the others or in src.
func findEntry(dir string, files []yurt.SourceFile, named string) (string, error) {
	if named != "" {
		named = path.Clean(filepath.ToSlash(named))
		if !slices.ContainsFunc(files, func(f yurt.SourceFile) bool { return f.Path == named }) {
			return "", yurt.FieldErrorf(yurt.CodeFileNotFound, "--entry", "there is no file %s in %s", named, dir)
		}
		return named, nil
	}
	for _, stem := range []string{"main", "index", "app", "handler"} {
		var found []string
		for _, f := range files {
			base := path.Base(f.Path)
			if in := path.Dir(f.Path); (in == "." || in == "src") && strings.EqualFold(strings.TrimSuffix(base, path.Ext(base)), stem) {
				found = append(found, f.Path)
			}
		}
		switch {
		case len(found) > 1:
			return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "--entry", "%s may all be what to run; name one", strings.Join(found, ", "))
		case len(found) == 1:
			return found[0], nil
		}
	}
	return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "--entry", "%s has no file main, index, app or handler; name the one to run", dir)
}
