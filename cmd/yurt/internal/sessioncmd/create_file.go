package sessioncmd

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// readFiles reads the files that a session is to begin with: LOCAL[:PATH] each, as the
// flag of session create says.
func (a *app) readFiles(settings []string) (yurtclient.Files, error) {
	var found cli.Gathered
	for _, setting := range settings {
		local, to := setting, ""
		if at := strings.LastIndexByte(setting, ':'); at >= 0 {
			local, to = setting[:at], setting[at+1:]
		}
		if err := a.gatherFrom(&found, local, to); err != nil {
			return nil, err
		}
	}
	if err := yurt.ValidateFiles("--file", found.Files); err != nil {
		return nil, err
	}
	files := make(yurtclient.Files, len(found.Files))
	for _, f := range found.Files {
		files[f.Path] = f.Data
	}
	return files, nil
}

// gatherFrom reads a file, standard input, or the files in a directory and below it.
func (a *app) gatherFrom(found *cli.Gathered, local, to string) error {
	if local == "" || local == "-" && (to == "" || strings.HasSuffix(to, "/")) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--file", "%q names no file; give LOCAL, LOCAL:PATH, or -:PATH for standard input", local+":"+to)
	}
	if to == "" || strings.HasSuffix(to, "/") {
		to += filepath.Base(filepath.Clean(local))
	}
	if local == "-" {
		return a.Gather(found, local, to)
	}
	info, err := os.Stat(local)
	if err != nil {
		return cli.Unreadable(local, err)
	}
	if !info.IsDir() {
		return a.Gather(found, local, to)
	}
	return filepath.WalkDir(local, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return cli.Unreadable(file, err)
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--file", "%s is a link, or no file; copy the directory with yurt session cp", file)
		}
		inside, err := filepath.Rel(local, file)
		if err != nil {
			return cli.Unreadable(file, err)
		}
		return a.Gather(found, file, path.Join(to, filepath.ToSlash(inside)))
	})
}
