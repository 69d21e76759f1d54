package sqlite

import (
	"errors"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/yurtrun/yurt"
)

// hidden is a cause that is for the log: it may name files of the host.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }

// explain gives an error of SQLite's that is about the file, and not about the request, a code. The message is one
// that any user may read.
func explain(err error) error {
	switch {
	case yurt.CodeOf(err) != yurt.CodeInternal:
		return err
	case isDamage(err):
		return yurt.Errorf(yurt.CodeUnavailable, "the server's store is damaged; its operator has to restore it%w", hidden{err})
	default:
		return err
	}
}

// primary masks the part of a result code of SQLite that has no details.
const primary = 0xff

// codeOf returns SQLite's result code, without details; 0 for an error of another origin.
func codeOf(err error) int {
	var failure *driver.Error
	if !errors.As(err, &failure) {
		return sqlite3.SQLITE_OK
	}
	return failure.Code() & primary
}

// isDamage reports whether SQLite cannot read the file.
func isDamage(err error) bool {
	code := codeOf(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// damaged is the error of a store that cannot be opened, for its operator.
func damaged(path string, err error) error {
	return yurt.Errorf(yurt.CodeUnavailable, "the store %s is damaged (%w). Restore it from a copy; or move it away, with %[1]s-wal and %[1]s-shm, and start again without what it knew: "+
		"--adopt-orphans says what becomes of the sandboxes that run", path, err)
}
