package main

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/controller/execution"
)

// clientTemplate is the template for a function whose language is unknown: commands run in it, with
// the programs of the host.
const clientTemplate = "shell-basic"

// function is the code that a Lambda runtime client is to serve: a file, or the files of a
// directory. It goes into the workspace as it is, since it need not be text, and may be executable.
type function struct {
	path  string
	isDir bool
}

// readFunction makes the request that of a function, which the command of --runtime-client serves.
func (a *app) readFunction(request *runRequest, file string, f runFlags) error {
	switch {
	case strings.TrimSpace(f.client) == "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--runtime-client", "the command is empty; give a program, or a line such as \"python3 -m awslambdaric app.handler\"")
	case f.handler == "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--handler", "name the function that the runtime client serves, such as app.handler")
	case f.entry != "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--entry", "the command of --runtime-client says what is run; leave it out")
	case len(f.args) > 0:
		return yurt.Errorf(yurt.CodeInvalidArgument, "a function has no arguments, and was given %s; pass data in the event, and quote the command of --runtime-client", strings.Join(f.args, " "))
	case file == "-":
		return yurt.Errorf(yurt.CodeInvalidArgument, "a runtime client reads the function from files; give a FILE or a DIR, and not standard input")
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return cli.Unreadable(file, err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return yurt.Errorf(yurt.CodeFileNotFound, "%s is neither a file nor a directory", file)
	}
	request.function = &function{path: file, isDir: info.IsDir()}
	command := cli.CommandOf([]string{f.client})
	if request.spec.Command = command.Argv; command.Shell != "" {
		request.spec.Command = execution.ShellCommand(command.Shell)
	}
	return a.readHandler(&request.spec, f)
}

// isIn reports whether the function has one of the extensions of a language: the file, or the
// one of the directory that the handler names, as app in app.handler.
func (f *function) isIn(extensions []string, handler string) bool {
	if !f.isDir {
		return slices.Contains(extensions, strings.ToLower(filepath.Ext(f.path)))
	}
	module := handler[:max(strings.LastIndexByte(handler, '.'), 0)]
	return filepath.IsLocal(module) && slices.ContainsFunc(extensions, func(extension string) bool {
		info, err := os.Stat(filepath.Join(f.path, module+extension))
		return err == nil && info.Mode().IsRegular()
	})
}

// upload puts the function into the workspace of a sandbox, with its modes and links.
func (f *function) upload(ctx context.Context, node runNode, sandboxID string) error {
	return cli.ThroughArchive(ctx, f.pack, func(ctx context.Context, archive io.Reader) error {
		_, err := node.UnpackFiles(ctx, sandboxID, yurt.WorkspaceDir, archive)
		var coded *yurt.Error
		if errors.As(err, &coded) && coded.Field != "" { // which our own errors have not
			err = yurt.Errorf(coded.Code, "%s cannot be put into the sandbox: %s", f.path, coded.Message)
		}
		return err
	})
}

func (f *function) pack(archive *tar.Writer) error {
	var err error
	at := f.path
	if f.isDir {
		err = archive.AddFS(shown{os.DirFS(f.path)})
		if path := new(fs.PathError); errors.As(err, &path) {
			at = filepath.Join(f.path, path.Path)
		}
	} else {
		err = f.packFile(archive)
	}
	if err != nil {
		return cli.Unreadable(at, err)
	}
	return nil
}

func (f *function) packFile(archive *tar.Writer) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// shown is a directory without its hidden entries, such as .git and .env, and without entries that
// are neither a file, a directory nor a link. Hidden entries further down stay: node_modules/.bin
// is of use.
type shown struct{ fs.FS }

// ReadDir implements [fs.ReadDirFS].
func (s shown) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		return name == "." && strings.HasPrefix(entry.Name(), ".") || entry.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0
	}), err
}

// Lstat implements [fs.ReadLinkFS].
func (s shown) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(s.FS, name) }

// ReadLink implements [fs.ReadLinkFS].
func (s shown) ReadLink(name string) (string, error) { return fs.ReadLink(s.FS, name) }
