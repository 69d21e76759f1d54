package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

// TestReadersOpenBesideAWrite: a connection that reads takes no lock to write when it is opened, so that it does not wait for a
// transaction, and a transaction does not wait for it.
func TestReadersOpenBesideAWrite(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	err = s.write.transact(t.Context(), func(*transaction) error {
		begun := time.Now()
		other, err := newReader(t.Context(), s.path, 1)
		if err != nil {
			return err
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the connection waited %s for the transaction", took)
		}
		return other.Close()
	}, func(bool) {})
	if err != nil {
		t.Error(err)
	}
}
