package vm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// initramfs makes the machine's initial file system: the guest program and the
// kernel's modules, in the format that the kernel takes (cpio, "newc").
func initramfs(guest string, k kernel) ([]byte, error) {
	archive := new(cpio)
	for _, dir := range []string{"dev", "modules", "root"} {
		archive.add(dir, fs.ModeDir|0o755, nil)
	}
	program, err := os.ReadFile(guest)
	if err != nil {
		return nil, err
	}
	archive.add("init", 0o755, program)
	for i, name := range modules() {
		data, err := os.ReadFile(k.module(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // built in
		}
		if err != nil {
			return nil, err
		}
		archive.add(fmt.Sprintf("modules/%02d-%s", i, name), 0o644, data)
	}
	archive.add("TRAILER!!!", 0, nil)
	return archive.Bytes(), nil
}

// cpio is an archive in the making.
type cpio struct {
	bytes.Buffer
	files int
}

func (c *cpio) add(name string, mode fs.FileMode, data []byte) {
	const directory, regular = 0o040000, 0o100000
	kind := regular
	if mode.IsDir() {
		kind = directory
	}
	c.files++
	fmt.Fprintf(c, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		c.files, kind|int(mode.Perm()), 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	c.WriteString(name + "\x00")
	c.pad()
	c.Write(data)
	c.pad()
}

func (c *cpio) pad() {
	for c.Len()%4 != 0 {
		c.WriteByte(0)
	}
}
