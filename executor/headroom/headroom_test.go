package headroom_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/test/smalldisk"
)

// TestRoomOnAFullDisk: the reserved bytes can be written once the disk is full; the room then fills up from the rest, and is
// whole as soon as there is space.
func TestRoomOnAFullDisk(t *testing.T) {
	disk := smalldisk.InMemory(t, 4<<20, "")
	dir := disk.Dir
	room := headroom.New(filepath.Join(dir, "reserve"), 1<<20)
	if err := room.Check(); err != nil || room.Held() != 1<<20 {
		t.Fatalf("on an empty disk: %v, %d bytes are held", err, room.Held())
	}
	disk.Fill()
	if err := room.Check(); !errors.Is(err, headroom.ErrFull) {
		t.Errorf("on a full disk: %v", err)
	}
	end := func() error { return os.WriteFile(filepath.Join(dir, "end"), make([]byte, 100<<10), 0o600) }
	if err := end(); !headroom.IsFull(err) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := room.Spend(end); err != nil {
		t.Errorf("on the room: %v", err)
	}
	if held := room.Held(); held < 800<<10 || held >= 1<<20 {
		t.Errorf("%d bytes are held, want what 100 KiB left of 1 MiB", held)
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 64<<10), 0o600); !headroom.IsFull(err) {
		t.Errorf("others write on the room: %v", err)
	}
	disk.Free()
	if err := room.Check(); err != nil || room.Held() != 1<<20 {
		t.Errorf("once there is room: %v, %d bytes are held", err, room.Held())
	}
	if err := room.Close(); err != nil {
		t.Error(err)
	}
}

// TestRoomOfAnEarlierProcess is there when the next one starts on a full disk.
func TestRoomOfAnEarlierProcess(t *testing.T) {
	disk := smalldisk.InMemory(t, 4<<20, "")
	dir, path := disk.Dir, filepath.Join(disk.Dir, "reserve")
	first := headroom.New(path, 1<<20)
	first.Take()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	next := headroom.New(path, 1<<20)
	next.Give()
	if err := os.WriteFile(filepath.Join(dir, "start"), make([]byte, 512<<10), 0o600); err != nil {
		t.Errorf("the next process cannot write: %v", err)
	}
	next.Take()
	if held := next.Held(); held < 256<<10 {
		t.Errorf("%d bytes are held of what was left", held)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// TestFullForAnotherReason: without inodes there is no room for another file.
func TestFullForAnotherReason(t *testing.T) {
	dir := smalldisk.InMemory(t, 4<<20, ",nr_inodes=3").Dir
	if err := headroom.Check(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := headroom.Check(dir); !errors.Is(err, headroom.ErrFull) {
		t.Errorf("without inodes: %v", err)
	}
}
