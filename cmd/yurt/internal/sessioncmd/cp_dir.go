package sessioncmd

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// uploadDir sends a directory as an archive that is made while it is sent.
func (a *app) uploadDir(ctx context.Context, client *yurtclient.Client, source string, to remotePath, progress *copyProgress, done *copied) error {
	var size int64
	err := filepath.WalkDir(source, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			info, err := e.Info()
			if err != nil {
				return err
			}
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return cli.Unreadable(source, err)
	}
	return cli.ThroughArchive(ctx, func(archive *tar.Writer) error {
		if err := archive.AddFS(os.DirFS(source)); err != nil {
			return cli.Unreadable(source, err)
		}
		return nil
	}, func(ctx context.Context, archive io.Reader) error {
		unpacked, err := client.UnpackFiles(ctx, to.session, to.path, progress.reader(archive, size))
		done.Entries, done.Bytes = unpacked.Entries, unpacked.Bytes
		return err
	})
}

// downloadDir extracts an archive of a session. The archive is a program's word: no entry of it may
// lead out of the destination.
func (a *app) downloadDir(ctx context.Context, client *yurtclient.Client, from remotePath, destination string, progress *copyProgress, done *copied) error {
	archive, err := client.PackFiles(ctx, from.session, from.path)
	if err != nil {
		return err
	}
	defer archive.Close()
	if destination == "-" {
		done.Bytes, err = io.Copy(a.Stdout, progress.reader(archive, 0))
		return err
	}
	if err := os.MkdirAll(destination, 0o755); err != nil {
		return unwritable(destination, err)
	}
	root, err := os.OpenRoot(destination)
	if err != nil {
		return unwritable(destination, err)
	}
	defer root.Close()
	reader := tar.NewReader(progress.reader(archive, 0))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return yurt.Errorf(yurt.CodeUnavailable, "the archive broke off after %d entries: %w; the server's log says why", done.Entries, err)
		}
		if err := saveEntry(root, header, reader, done); err != nil {
			return fmt.Errorf("copying %s: %w", header.Name, err)
		}
	}
}

// saveEntry makes one entry below the root.
func saveEntry(root *os.Root, header *tar.Header, content io.Reader, done *copied) error {
	mode := fs.FileMode(header.Mode).Perm() //nolint:gosec // permission bits alone
	name := path.Clean(header.Name)
	if !filepath.IsLocal(name) {
		return yurt.Errorf(yurt.CodePathOutsideWorkspace, "the session sent a name that leads out of the destination")
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	var err error
	switch header.Typeflag {
	case tar.TypeDir:
		if err = root.Mkdir(name, mode|0o700); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	case tar.TypeSymlink:
		target := path.Join(path.Dir(name), header.Linkname) //nolint:gosec // it is checked next
		if path.IsAbs(header.Linkname) || !filepath.IsLocal(target) {
			done.LeftOut++
			return nil
		}
		if err = removeOld(root, name); err == nil {
			err = root.Symlink(header.Linkname, name)
		}
	case tar.TypeReg:
		var n int64
		n, err = saveIn(root, name, content, mode)
		done.Bytes += n
	default:
		done.LeftOut++
		return nil
	}
	if err == nil {
		done.Entries++
	}
	return err
}

// saveIn makes a file below the root, in place of an existing one.
func saveIn(root *os.Root, name string, content io.Reader, mode fs.FileMode) (int64, error) {
	if err := removeOld(root, name); err != nil {
		return 0, err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(file, content)
	return n, errors.Join(err, file.Close())
}

// removeOld makes room for a file, which must not be written through a link.
func removeOld(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
