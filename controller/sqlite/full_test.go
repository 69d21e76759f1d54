package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/sqlite"
	"github.com/yurtrun/yurt/test/smalldisk"
)

func add(t *testing.T, store *sqlite.Store) (yurt.Session, error) {
	t.Helper()
	return addWith(t, store, nil)
}

func addWith(t *testing.T, store *sqlite.Store, env map[string]string) (yurt.Session, error) {
	t.Helper()
	session := someSession()
	session.Env = env
	return session, store.CreateSession(t.Context(), session, yurt.Transition{To: session.State, At: session.CreatedAt}, nil)
}

func end(t *testing.T, store *sqlite.Store, id string) error {
	t.Helper()
	_, err := store.ChangeSession(t.Context(), id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		step, err := s.Transition(yurt.SessionTerminated, "its user ended it", s.CreatedAt)
		return []yurt.Transition{step}, err
	})
	return err
}

// TestFullDisk: no session begins while the disk is full, and the error says so. All sessions can be ended, also by
// the next process, and the store works again as soon as there is room.
func TestFullDisk(t *testing.T) {
	disk := smalldisk.InMemory(t, 20<<20, "")
	path := filepath.Join(disk.Dir, "yurt.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil { // or the one that is opened next
			t.Error(err)
		}
	}()
	var sessions []yurt.Session
	for range 300 {
		session, err := add(t, store)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, session)
	}
	disk.Fill()
	var refused error
	for range 1000 { // until the log has used up the place that it has
		var session yurt.Session
		if session, refused = add(t, store); refused != nil {
			break
		}
		sessions = append(sessions, session)
	}
	for _, err := range []error{refused, store.Ping(t.Context())} {
		if yurt.CodeOf(err) != yurt.CodeDiskFull || !strings.Contains(err.Error(), "disk of the server's store is full") || strings.Contains(err.Error(), path) {
			t.Errorf("error %v with code %s", err, yurt.CodeOf(err))
		}
	}
	half := len(sessions) / 2
	for i, session := range sessions {
		if i == half { // the next process finds the disk full
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if store, err = sqlite.Open(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			disk.Fill()
		}
		if err := end(t, store, session.ID); err != nil {
			t.Fatalf("ending session %d of %d: %v", i+1, len(sessions), err)
		}
	}
	if ended, err := store.Session(t.Context(), sessions[0].ID); err != nil || ended.State != yurt.SessionTerminated {
		t.Errorf("an ended session is %s, %v", ended.State, err)
	}
	disk.Free()
	if err := store.Ping(t.Context()); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	if _, err := add(t, store); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}
