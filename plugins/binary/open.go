package binary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
)

// ValidName reports whether a runtime can have the name. It is never a path.
func ValidName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-+.#_", r) {
			return false
		}
	}
	return name != "" && len(name) <= protocol.MaxNameBytes
}

// Find opens the binary of the runtime of that name in a plugin directory, as [Open] does. It refuses one that others could have changed.
func Find(dir, name string, checksums map[string]string) (*os.File, error) {
	if !ValidName(name) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "runtime", "%.100q is no name of a runtime; give lower-case letters, digits and the characters -+.#_", name)
	}
	real, err := CheckDir(dir)
	if err != nil {
		return nil, unavailable(err)
	}
	path, _, err := Check(filepath.Join(real, plugins.BinaryPrefix+name))
	if err != nil {
		return nil, unavailable(err)
	}
	return Open(path, name, checksums)
}

// Open opens a binary, which must have the checksum of its name, if checksums are given. The open file is the one to start, even if
// another takes its place meanwhile. The caller closes it.
func Open(path, name string, checksums map[string]string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unavailable(err)
	}
	if err := verify(file, name, checksums); err != nil {
		file.Close()
		return nil, unavailable(err)
	}
	return file, nil
}

func verify(file io.Reader, name string, checksums map[string]string) error {
	if checksums == nil {
		return nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	switch got, want := hex.EncodeToString(hash.Sum(nil)), checksums[name]; want {
	case got:
		return nil
	case "":
		return fmt.Errorf("the checksums that this node was given do not have it; its own is %s", got)
	default:
		return fmt.Errorf("its binary has the checksum %s, and must have %s", got, want)
	}
}

// CheckForOthers refuses a binary that its owner alone may execute: a confined runtime runs as a user of its own.
func CheckForOthers(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return unavailable(err)
	}
	if mode := info.Mode().Perm(); mode&0o001 == 0 {
		return unavailable(fmt.Errorf("%s may be executed by its owner alone (mode %#o), and a runtime runs as a user of its own; run chmod o+rx on it", file.Name(), mode))
	}
	return nil
}

func unavailable(err error) error { return yurt.Errorf(yurt.CodeRuntimeUnavailable, "%w", err) }
