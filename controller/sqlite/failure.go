package sqlite

import (
	"errors"
	"time"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/headroom"
)

// explain gives an error of SQLite's that is about the file, and not about the request, a code. The message is one
// that any user may read.
func explain(err error) error {
	switch {
	case yurt.CodeOf(err) != yurt.CodeInternal:
		return err
	case isDamage(err):
		return yurt.Errorf(yurt.CodeUnavailable, "the server's store is damaged; its operator has to restore it%w", yurt.Hidden(err))
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

// isFull reports whether a write failed because the disk of the directory is full.
func isFull(err error, dir string) bool {
	switch codeOf(err) {
	case sqlite3.SQLITE_FULL:
		return true
	case sqlite3.SQLITE_IOERR: // as when the file of the shared memory cannot grow
		return headroom.Check(dir) != nil
	default:
		return false
	}
}

// diskFull is the error of a write for which there is no room.
func diskFull(err error) error {
	full := yurt.Errorf(yurt.CodeDiskFull, "the disk of the server's store is full: sessions can be ended, and nothing else can be stored until there is room%w", yurt.Hidden(err))
	full.RetryAfter = retryFull
	return full
}

// retryFull is the wait that a client is asked for while the disk is full: a person has to make room.
const retryFull = 5 * time.Second

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
