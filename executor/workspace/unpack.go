package workspace

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/yurtrun/yurt"
)

// Limits bound the content of an archive.
type Limits struct {
	Entries int
	Bytes   int64 // of the files in it; that of the archive itself follows from both
}

// entryRoom is how much an entry may take in an archive beside its content: a header, its extensions, and the padding of a block.
const entryRoom = 16 << 10

// Unpack reads a tar archive, as a stream, into the directory at name, which it makes. Files are replaced as [Dir.Write] does
// it. It takes directories, files, and symbolic and hard links that stay inside; any other entry, and any name that leads out of
// the directory, is an error. Files from before an error stay.
func (d *Dir) Unpack(ctx context.Context, name string, archive io.Reader, limits Limits) (yurt.Unpacked, error) {
	name, err := yurt.CleanWorkspaceDir("path", name)
	if err != nil {
		return yurt.Unpacked{}, err
	}
	if name != "." {
		if _, _, err := d.MakeDir(name, 0); err != nil {
			return yurt.Unpacked{}, err
		}
	}
	source := &sourceReader{from: archive, left: limits.Bytes + int64(limits.Entries)*entryRoom}
	u := unpacker{Dir: d, top: name, limits: limits, tar: tar.NewReader(source)}
	for {
		if ctx.Err() != nil {
			return u.done, ctx.Err()
		}
		header, err := u.tar.Next()
		if errors.Is(err, io.EOF) {
			return u.done, nil
		}
		if err == nil {
			err = u.entry(header)
		}
		switch {
		case err == nil:
		case source.failed != nil:
			return u.done, source.failed
		default:
			return u.done, u.explain(header, err)
		}
	}
}

// sourceReader keeps the errors of a source apart from those of the archive in it.
type sourceReader struct {
	from   io.Reader
	left   int64
	failed error
}

func (r *sourceReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		r.failed = yurt.FieldErrorf(yurt.CodeFileTooLarge, "body", "the archive is larger than an archive may be")
		return 0, r.failed
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}

// unpacker reads one archive.
type unpacker struct {
	*Dir
	tar    *tar.Reader
	top    string
	limits Limits
	done   yurt.Unpacked
}

func (u *unpacker) explain(header *tar.Header, err error) error {
	var coded *yurt.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case header == nil, errors.Is(err, tar.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, tar.ErrFieldTooLong):
		return yurt.FieldErrorf(yurt.CodeArchiveInvalid, "body", "after %d entries the archive is broken: %w; send a plain tar archive, whole and not compressed", u.done.Entries, err)
	default:
		return explain(valid(header.Name), err)
	}
}

func (u *unpacker) entry(header *tar.Header) error {
	if u.done.Entries++; u.done.Entries > u.limits.Entries {
		return yurt.FieldErrorf(yurt.CodeFileTooLarge, "body", "the archive has more than %d entries; send it in parts", u.limits.Entries)
	}
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := inside(header.Name)
	if err != nil {
		return err
	}
	if name == "." {
		if header.Typeflag == tar.TypeDir {
			return nil
		}
		return yurt.FieldErrorf(yurt.CodeArchiveInvalid, "body", "the archive has an entry %q that is no directory", valid(header.Name))
	}
	return u.put(header, path.Join(u.top, name))
}

// inside returns the clean name of an entry, which must not lead out of the directory
// that the archive is unpacked in.
func inside(name string) (string, error) {
	text := valid(name)
	if len(name) > yurt.MaxPathBytes {
		return "", yurt.FieldErrorf(yurt.CodeInvalidPath, "body", "the archive has a name of %d bytes; at most %d are allowed", len(name), yurt.MaxPathBytes)
	}
	if !filepath.IsLocal(name) {
		return "", yurt.FieldErrorf(yurt.CodePathOutsideWorkspace, "body", "the archive's entry %q leads out of the directory; name it by a path inside", text)
	}
	clean := path.Clean(name)
	if strings.Count(clean, "/") >= yurt.MaxFileDepth {
		return "", yurt.FieldErrorf(yurt.CodeInvalidPath, "body", "the archive's entry %.100q… is more than %d directories deep", text, yurt.MaxFileDepth)
	}
	return clean, nil
}

func (u *unpacker) put(header *tar.Header, name string) error {
	mode := fs.FileMode(header.Mode).Perm() //nolint:gosec // permission bits alone
	switch header.Typeflag {
	case tar.TypeDir:
		_, _, err := u.MakeDir(name, mode|0o700) // the user has to get in
		return err
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.putFile(header, name, mode)
	case tar.TypeSymlink:
		return u.replace(name, func() error { return u.root.Symlink(header.Linkname, name) })
	case tar.TypeLink:
		target, err := inside(header.Linkname)
		if err != nil {
			return err
		}
		return u.replace(name, func() error { return u.root.Link(path.Join(u.top, target), name) })
	default:
		return yurt.FieldErrorf(yurt.CodeArchiveInvalid, "body", "the archive's entry %q is a device, a FIFO or of a kind that is not known; only files, directories and links can be unpacked", valid(header.Name))
	}
}

func (u *unpacker) putFile(header *tar.Header, name string, mode fs.FileMode) error {
	if u.done.Bytes += header.Size; u.done.Bytes > u.limits.Bytes {
		return yurt.FieldErrorf(yurt.CodeFileTooLarge, "body", "with the entry %q the archive has more than %s of files; send it in parts", valid(header.Name), yurt.Size(u.limits.Bytes))
	}
	if mode == 0 {
		mode = defaultFileMode
	}
	if _, err := u.Write(name, u.tar, header.Size, mode); err != nil {
		return err
	}
	if header.ModTime.Unix() == 0 || header.ModTime.IsZero() {
		return nil
	}
	return u.as(func() error {
		if err := u.root.Chtimes(name, header.ModTime, header.ModTime); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil // the sandbox has taken it away already
	})
}

// replace makes a link where a file or a link may be.
func (u *unpacker) replace(name string, link func() error) error {
	clean, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return err
	}
	u.change.Lock()
	defer u.change.Unlock()
	err = u.as(func() error {
		if err := u.root.MkdirAll(path.Dir(clean), defaultDirMode); err != nil {
			return err
		}
		if info, err := u.root.Lstat(clean); err == nil && !info.IsDir() {
			if err := u.root.Remove(clean); err != nil && !errors.Is(err, syscall.ENOENT) {
				return err
			}
		}
		return link()
	})
	return explainUnless(clean, err)
}
