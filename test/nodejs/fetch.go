package nodejs

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
)

// fetch unpacks a package of npm's.
func fetch(url, dir string) error {
	resp, err := http.Get(url)
	if err != nil {
		return fmt.Errorf("fetching npm, which this machine does not have: %w", err)
	}
	defer resp.Body.Close()
	plain, err := gzip.NewReader(resp.Body)
	if err != nil {
		return fmt.Errorf("fetching %s: %s, %w", url, resp.Status, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", url, err)
		}
		if name, ok := strings.CutPrefix(header.Name, "package/"); ok && header.Typeflag == tar.TypeReg {
			if err := unpack(root, name, archive); err != nil {
				return err
			}
		}
	}
}

func unpack(root *os.Root, name string, content io.Reader) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return errors.Join(root.MkdirAll(path.Dir(name), 0o755), root.WriteFile(name, data, 0o644))
}
