package logfiles

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func fileName(name string, index int64) string { return name + "." + strconv.FormatInt(index, 10) }

// open opens the file for writing, and makes it if need be. It replaces an irregular file, which may be a link, or a pipe without a
// reader.
func (w *Writer) open(name string) (*os.File, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(int(w.dir.Fd()), name, flags, 0o644)
	if err == nil {
		file := os.NewFile(uintptr(fd), name)
		info, err := file.Stat()
		if err == nil && info.Mode().IsRegular() {
			return file, nil
		}
		file.Close()
	}
	if err := unix.Unlinkat(int(w.dir.Fd()), name, 0); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("replacing %s, which is no regular file: %w", name, err)
	}
	fd, err = unix.Openat(int(w.dir.Fd()), name, flags|unix.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// last is the end of the output in the files of that name.
func (w *Writer) last(name string) place {
	if w.dir == nil {
		return place{}
	}
	found := int64(-1)
	if _, err := w.dir.Seek(0, 0); err != nil { // to the first name again
		return place{}
	}
	for {
		names, err := w.dir.Readdirnames(1024)
		for _, candidate := range names {
			found = max(found, indexOf(name, candidate))
		}
		if err != nil { // the end, or as good as that
			break
		}
	}
	if found < 0 {
		return place{}
	}
	var stat unix.Stat_t
	err := unix.Fstatat(int(w.dir.Fd()), fileName(name, found), &stat, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Size > int64(w.options.MaxSize) {
		return place{index: found + 1}
	}
	return place{found, stat.Size}
}

// indexOf is the number of the file, or -1 for a file of another name.
func indexOf(name, file string) int64 {
	digits, ok := strings.CutPrefix(file, name+".")
	if !ok || digits == "" || len(digits) > 1 && digits[0] == '0' {
		return -1
	}
	for _, r := range digits {
		if r < '0' || r > '9' {
			return -1
		}
	}
	index, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || index >= maxIndex/2 {
		return -1
	}
	return index
}
