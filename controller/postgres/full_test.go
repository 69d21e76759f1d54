package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/test/pgserver"
	"github.com/yurtrun/yurt/test/smalldisk"
)

// onSmallDisk opens a store whose tables are on a disk that can be filled, and the server's log of transactions not.
func onSmallDisk(t *testing.T) (*postgres.Store, *smalldisk.Disk) {
	t.Helper()
	disk := smalldisk.InMemory(t, 16<<20, ",uid=65534") // the user that the server runs as has to own the disk
	url := pgserver.Start(t).Database()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), "CREATE TABLESPACE small LOCATION '"+disk.Dir+"'"); err != nil {
		t.Fatal(err)
	}
	return open(t, url+"&default_tablespace=small"), disk
}

// TestFullDisk: the server's own error becomes, at once, one that explains the full disk, and ends when the disk has room.
func TestFullDisk(t *testing.T) {
	store, disk := onSmallDisk(t)
	add := func() error {
		now := time.Now()
		s := yurt.Session{ID: yurt.NewSessionID(), State: yurt.SessionReady, Reason: strings.Repeat("x", 1000), CreatedAt: now, UpdatedAt: now, ActiveAt: now}
		return store.CreateSession(t.Context(), s, yurt.Transition{To: s.State, At: now}, nil)
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	var err error
	for try := 0; err == nil && try < 1000; try++ {
		err = add()
	}
	for _, err := range []error{err, store.Ping(t.Context())} {
		if yurt.CodeOf(err) != yurt.CodeDiskFull || !strings.Contains(err.Error(), "disk of the server's store is full") || strings.Contains(err.Error(), "could not extend") {
			t.Errorf("error %v with code %s", err, yurt.CodeOf(err))
		}
	}
	disk.Free()
	if err := add(); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	for begun := time.Now(); store.Ping(t.Context()) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 5*time.Second {
			t.Fatalf("it is still not ready: %v", store.Ping(t.Context()))
		}
	}
}
