package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/headroom"
)

// Shown returns the text of an error for a user of a sandbox, which names no file of the host's.
func Shown(err error) string {
	if headroom.IsFull(err) {
		return "the disk of the node is full"
	}
	text := err.Error()
	var (
		path *fs.PathError
		link *os.LinkError
	)
	if errors.As(err, &path) && filepath.IsAbs(path.Path) {
		text = strings.ReplaceAll(text, path.Path, "a file of the node")
	}
	if errors.As(err, &link) {
		text = strings.NewReplacer(link.Old, "a file of the node", link.New, "another").Replace(text)
	}
	return text
}

// ErrShuttingDown is the error of a request that a closing executor does not serve.
func ErrShuttingDown() error {
	return yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down")
}
