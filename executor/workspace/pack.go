package workspace

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// Pack writes the content of the directory at name to a tar archive, as a stream: directories, files and links, which are not
// followed. Without such a directory it writes no byte; an archive that breaks off later has no end mark.
func (d *Dir) Pack(ctx context.Context, name string, to io.Writer) error {
	name, err := yurt.CleanWorkspaceDir("path", name)
	if err != nil {
		return err
	}
	top, err := d.openTop(name)
	if err != nil {
		return explain(name, err)
	}
	defer top.Close()
	p := packer{Dir: d, tar: tar.NewWriter(to)}
	if err := d.walk(ctx, top, "", p.add); err != nil {
		return err
	}
	if err := p.tar.Close(); err != nil {
		return fmt.Errorf("ending the archive: %w", err)
	}
	return nil
}

// packer writes one archive.
type packer struct {
	*Dir
	tar     *tar.Writer
	entries int
	bytes   int64
}

func (p *packer) add(e entry) error {
	header := &tar.Header{Name: e.path, Mode: int64(e.info.Mode), ModTime: e.info.ModTime}
	if p.entries++; p.entries > yurt.MaxArchiveEntries {
		return yurt.FieldErrorf(yurt.CodeFileTooLarge, "path", "there are more than %d files; pack a part of them", yurt.MaxArchiveEntries)
	}
	switch e.info.Type {
	case yurt.FileDirectory:
		header.Typeflag, header.Name = tar.TypeDir, e.path+"/"
	case yurt.FileLink:
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.info.Target
	case yurt.FileRegular:
		return p.addFile(header, e)
	default:
		return nil // a FIFO or a socket is of no use elsewhere
	}
	return p.header(header)
}

func (p *packer) header(header *tar.Header) error {
	if err := p.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("packing %s: %w", valid(header.Name), err)
	}
	return nil
}

// addFile writes a file as large as it is when it is opened.
func (p *packer) addFile(header *tar.Header, e entry) error {
	var file *os.File
	err := p.as(func() error {
		fd, err := unix.Openat(int(e.in.Fd()), e.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|neverWaits, 0)
		if err == nil {
			file = os.NewFile(uintptr(fd), e.name)
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return nil // the entry has changed or is gone
	case err != nil:
		return explain(e.info.Path, err)
	}
	defer file.Close()
	info, err := regular(file, e.info.Path)
	if yurt.CodeOf(err) == yurt.CodeNotAFile {
		return nil
	}
	if err != nil {
		return explain(e.info.Path, err)
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	// Files with holes, and those with many names, hold more than the disk does.
	if p.bytes += info.Size(); p.bytes > yurt.MaxArchiveBytes {
		return yurt.FieldErrorf(yurt.CodeFileTooLarge, "path", "with %s the files have more than %s; pack a part of them", e.info.Path, yurt.Size(yurt.MaxArchiveBytes))
	}
	if err := p.header(header); err != nil {
		return err
	}
	if _, err := io.CopyN(p.tar, file, header.Size); err != nil {
		return fmt.Errorf("packing %s: %w", e.info.Path, err)
	}
	return nil
}
