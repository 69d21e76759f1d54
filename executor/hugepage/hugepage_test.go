package hugepage

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestCollapse: the file is in huge pages, and its content is unchanged.
func TestCollapse(t *testing.T) {
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "test")
	defer file.Close()
	data := make([]byte, 2*size+size/2)
	random := rand.NewChaCha8([32]byte{})
	if _, err := random.Read(data); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(data); err != nil {
		t.Fatal(err)
	}
	if n := hugeBytes(t, fd); n != 0 {
		t.Fatalf("%d bytes are in huge pages before", n)
	}
	if err := Collapse(file); err != nil {
		t.Fatal(err)
	}
	if n := hugeBytes(t, fd); n != 2*size {
		t.Errorf("%d bytes are mapped by huge pages, want two of them", n)
	}
	got, err := io.ReadAll(io.NewSectionReader(file, 0, 3*size))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("it has %d bytes, of %d, or others (%v)", len(got), len(data), err)
	}
}

// hugeBytes is how much of the file's first 4 MiB is mapped by huge pages, when all of it is.
func hugeBytes(t *testing.T, fd int) (n uint64) {
	t.Helper()
	around, err := unix.MmapPtr(-1, 0, nil, 3*size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.MunmapPtr(around, 3*size)
	begin := unsafe.Add(around, -uintptr(around)&(size-1))
	mapped, err := unix.MmapPtr(fd, 0, begin, 2*size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_FIXED)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Madvise(unsafe.Slice((*byte)(mapped), 2*size), unix.MADV_POPULATE_READ); err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, entry, ok := strings.Cut(string(maps), fmt.Sprintf("%x-", uintptr(mapped)))
	if !ok {
		t.Fatal("the mapping is not listed")
	}
	_, entry, _ = strings.Cut(entry, "ShmemPmdMapped:")
	if _, err := fmt.Sscan(entry, &n); err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// TestCollapseNothing: a file that cannot be collapsed is an error, and stays unchanged.
func TestCollapseNothing(t *testing.T) {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := Collapse(file); err == nil {
		t.Error("a file without pages was collapsed")
	}
}
