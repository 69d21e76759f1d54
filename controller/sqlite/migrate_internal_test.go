package sqlite

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/yurtrun/yurt"
)

// TestMigratedStory opens a file of before the story had a tree of its own for each session.
func TestMigratedStory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "yurt.db")
	db, err := openDatabase(dsn(path), 1)
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `
		INSERT INTO sessions (id, template_id, mode, state, reason, agent_id, metadata, env, cpu, memory, disk, pids, timeout, idle_timeout,
			placement, sandbox_id, created_at, updated_at, active_at)
		VALUES ('ses_b', 't', 'persistent', 'ready', '', '', '{}', '{}', 1, 1, 1, 1, 1, 1, '{}', '', 1, 1, 1),
			('ses_a', 't', 'persistent', 'ready', '', '', '{}', '{}', 1, 1, 1, 1, 1, 1, '{}', '', 1, 1, 1);
		INSERT INTO transitions (session_id, from_state, to_state, reason, at)
		VALUES ('ses_b', '', 'creating', 'first', 3), ('ses_a', '', 'creating', 'other', 2), ('ses_b', 'creating', 'ready', 'second', 1);`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := store.ChangeSession(t.Context(), "ses_b", func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		change, err := s.Transition(yurt.SessionPaused, "third", s.CreatedAt)
		return []yurt.Transition{change}, err
	}); err != nil {
		t.Fatal(err)
	}
	story, err := store.Transitions(t.Context(), "ses_b", 0)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, step := range story {
		reasons = append(reasons, step.Reason)
	}
	if diff := cmp.Diff([]string{"first", "second", "third"}, reasons); diff != "" {
		t.Errorf("the story differs (-want +got):\n%s", diff)
	}
}

// TestOlderFileCanShrink opens a file that an older version made, which could not shrink.
func TestOlderFileCanShrink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "yurt.db")
	db, err := openDatabase("file:"+path+"?_pragma=journal_mode(WAL)", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO templates (name, body, created_at) VALUES ('kept', '{}', 1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once as the older version left it, once as this one did
		store, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		var mode int
		if err := store.read.QueryRowContext(t.Context(), "PRAGMA auto_vacuum").Scan(&mode); err != nil || mode != incremental {
			t.Errorf("the file has auto_vacuum %d, want %d, error %v", mode, incremental, err)
		}
		if _, err := store.Template(t.Context(), "kept"); err != nil {
			t.Error("what the older version had stored:", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
