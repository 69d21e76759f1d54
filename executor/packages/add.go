package packages

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yurtrun/yurt/executor/trees"
	"github.com/yurtrun/yurt/executor/workspace"
)

// AddLayer makes the layer of a digest from a tar archive, readable by all. The archive is hostile: it is unpacked within bounds and
// never out of the layer. A layer that exists stays as it is.
func (c Config) AddLayer(ctx context.Context, store *trees.Store, digest string, archive io.Reader) error {
	return store.Make(digest, func(dir string) (trees.Made, error) {
		top := filepath.Join(dir, trees.Dir)
		tree, err := workspace.At(top)
		if err != nil {
			return trees.Made{}, err
		}
		defer tree.Close()
		done, err := tree.Unpack(ctx, ".", archive, workspace.Limits{Entries: maxLayerEntries, Bytes: min(maxLayerBytes, c.KeepBytes)})
		if err != nil {
			return trees.Made{}, fmt.Errorf("making a layer: %w", err)
		}
		if err := makeReadable(top); err != nil {
			return trees.Made{}, fmt.Errorf("making a layer readable: %w", err)
		}
		return trees.Made{Bytes: done.Bytes, Entries: done.Entries}, nil
	})
}

// makeReadable lets all users read the files in dir: in a sandbox the files have no owner.
func makeReadable(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if info.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		if mode == info.Mode().Perm() {
			return nil
		}
		return root.Chmod(path, mode)
	})
}
