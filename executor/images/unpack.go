package images

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// room is the rest of an image's bounds.
type room struct {
	bytes   int64 // of files
	entries int   // of all its layers, also of those that are hidden again
	made    int64
}

// The bytes that an archive may have beside the content of its files, for each entry.
const entryRoom = 16 << 10

// How a layer says that something of the layers below is not there.
const (
	hiddenPrefix = ".wh."
	opaqueName   = ".wh..wh..opq"
	oldPrefix    = ".wh..wh." // of aufs's own files in its layers
)

// maxDepth is how many directories deep something may be.
const maxDepth = 255

// decompress returns the archive in a layer, of any supported compression.
func decompress(layer io.Reader) (io.ReadCloser, error) {
	r := bufio.NewReaderSize(layer, 64<<10)
	magic, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxZstdMemory))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	default:
		return io.NopCloser(r), nil
	}
}

// maxZstdMemory bounds the memory that a frame may need; encoders take 8 MiB unless they are told to go beyond the size that
// decoders have to support.
const maxZstdMemory = 128 << 20

// apply puts a layer on top of the tree, within the rest of the bounds.
func (t tree) apply(ctx context.Context, layer io.Reader, left *room) error {
	archive, err := decompress(layer)
	if err != nil {
		return yurt.Errorf(yurt.CodeArchiveInvalid, "it cannot be decompressed: %w", err)
	}
	defer archive.Close()
	source := &io.LimitedReader{R: archive, N: left.bytes + int64(left.entries+1)*entryRoom}
	u := unpacker{tree: t, tar: tar.NewReader(source), left: left, ours: make(inodes)}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := u.tar.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if source.N <= 0 {
			return errTooLarge()
		}
		if err != nil {
			return yurt.Errorf(yurt.CodeArchiveInvalid, "its archive is broken: %w", err)
		}
		if err := u.entry(header); err != nil {
			return yurt.Errorf(blame(err), "at the entry %.200q: %w", header.Name, err)
		}
	}
}

// blame tells faults of a layer apart from faults of this node.
func blame(err error) yurt.Code {
	of := func(target error) bool { return errors.Is(err, target) }
	switch {
	case of(unix.ENOSPC), of(unix.EDQUOT):
		return yurt.CodeUnavailable
	case slices.ContainsFunc([]error{unix.ENOENT, unix.ENOTDIR, unix.EISDIR, unix.ENAMETOOLONG, unix.ELOOP, unix.EINVAL, unix.EMLINK, io.ErrUnexpectedEOF, tar.ErrHeader}, of):
		return yurt.CodeArchiveInvalid
	default:
		return yurt.CodeOf(err)
	}
}

func errTooLarge() error {
	return yurt.Errorf(yurt.CodeLimitOutOfRange, "it has more in it than an image may have on this node, or than its compressed size lets expect")
}

// unpacker reads the archive of one layer.
type unpacker struct {
	tree
	tar  *tar.Reader
	left *room
	ours inodes
}

// local returns the name of an entry within the tree. An absolute one is below its root.
func local(name string) (string, error) {
	trimmed := strings.TrimLeft(name, "/")
	switch {
	case trimmed == "":
		return ".", nil
	case !filepath.IsLocal(trimmed) || strings.ContainsRune(trimmed, 0):
		return "", yurt.Errorf(yurt.CodeArchiveInvalid, "the name leads out of the image")
	case len(trimmed) > yurt.MaxPathBytes || strings.Count(trimmed, "/") > maxDepth:
		return "", yurt.Errorf(yurt.CodeArchiveInvalid, "the name is too long; at most %d bytes and %d directories are allowed", yurt.MaxPathBytes, maxDepth)
	}
	return path.Clean(trimmed), nil
}

func (u *unpacker) entry(header *tar.Header) error {
	if u.left.entries--; u.left.entries < 0 {
		return errTooLarge()
	}
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := local(header.Name)
	if err != nil || name == "." {
		return err
	}
	if strings.HasPrefix(path.Base(name), hiddenPrefix) {
		return u.whiteout(name)
	}
	p, err := u.make(name)
	if err != nil {
		return err
	}
	defer p.close()
	return u.put(header, p)
}

// whiteout removes the entry that a whiteout names.
func (u *unpacker) whiteout(name string) error {
	dir, base := path.Split(name)
	hidden := strings.TrimPrefix(base, hiddenPrefix)
	switch {
	case base == opaqueName:
		hidden = ""
	case strings.HasPrefix(base, oldPrefix):
		return nil
	case hidden == "" || hidden == "." || hidden == "..":
		return yurt.Errorf(yurt.CodeArchiveInvalid, "it hides nothing that can be there")
	}
	p, err := u.at(path.Join(dir, hidden))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	return p.hide(u.ours, hidden != "")
}

// put makes the entry in place of an older one.
func (u *unpacker) put(header *tar.Header, p place) error {
	// Every user of a sandbox can read its image's files, and no more than that.
	mode := uint32(header.Mode)&0o777 | 0o444
	if header.Typeflag == tar.TypeDir || mode&0o111 != 0 {
		mode |= 0o111
	}
	if header.Typeflag == tar.TypeDir {
		return u.putDir(p, mode|0o700) // for later entries, and for the removal of the image
	}
	if header.Typeflag == tar.TypeLink {
		return u.putLink(header, p)
	}
	if err := p.remove(); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.putFile(header, p, mode)
	case tar.TypeSymlink:
		if err := unix.Symlinkat(header.Linkname, p.fd(), p.name); err != nil {
			return &fs.PathError{Op: "symlink", Path: p.name, Err: err}
		}
		return u.ours.note(p)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return nil // a sandbox has the devices that it may have
	default:
		return yurt.Errorf(yurt.CodeArchiveInvalid, "it is of a kind that is not known")
	}
}

func (u *unpacker) putDir(p place, mode uint32) error {
	stat, err := p.stat()
	switch {
	case err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR:
		err = os.Chmod(p.path(), fs.FileMode(mode))
	case err == nil:
		if err := p.remove(); err != nil {
			return err
		}
		err = p.mkdir(mode)
	case errors.Is(err, unix.ENOENT):
		err = p.mkdir(mode)
	}
	if err != nil {
		return err
	}
	return u.ours.note(p)
}

func (u *unpacker) putLink(header *tar.Header, p place) error {
	target, err := local(header.Linkname)
	if err != nil {
		return err
	}
	old, err := u.at(target)
	if err != nil {
		return err
	}
	defer old.close()
	from, err := old.stat()
	if err != nil {
		return &fs.PathError{Op: "link to", Path: target, Err: err}
	}
	if there, err := p.stat(); err == nil && there.Ino == from.Ino {
		return u.ours.note(p) // it is that link already
	}
	if err := p.remove(); err != nil {
		return err
	}
	if err := unix.Linkat(old.fd(), old.name, p.fd(), p.name, 0); err != nil {
		return &fs.PathError{Op: "link to", Path: target, Err: err}
	}
	return u.ours.note(p)
}

func (u *unpacker) putFile(header *tar.Header, p place, mode uint32) error {
	if u.left.bytes -= header.Size; header.Size < 0 || u.left.bytes < 0 {
		return errTooLarge()
	}
	fd, err := unix.Openat(p.fd(), p.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return &fs.PathError{Op: "create", Path: p.name, Err: err}
	}
	file := os.NewFile(uintptr(fd), p.name)
	written, err := io.Copy(file, u.tar)
	u.left.made += written
	if err == nil {
		err = file.Chmod(fs.FileMode(mode)) // in spite of the umask
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if !header.ModTime.IsZero() {
		if err := os.Chtimes(p.path(), header.ModTime, header.ModTime); err != nil {
			return err
		}
	}
	return u.ours.note(p)
}
