package rig

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// npmVersion is what is fetched where the machine's Node comes without npm, as
// Debian's does.
const npmVersion = "10.9.2"

// Npm returns the directory of npm itself, which it fetches once where the machine has none.
func Npm(t testing.TB) string {
	t.Helper()
	if found, err := exec.LookPath("npm"); err == nil {
		if cli, err := filepath.EvalSymlinks(found); err == nil && path.Base(cli) == "npm-cli.js" {
			return filepath.Dir(filepath.Dir(cli))
		}
	}
	return Cached(t, "npm-"+npmVersion, func(dir string) {
		registry := strings.TrimSuffix(os.Getenv("npm_config_registry"), "/")
		if registry == "" {
			registry = "https://registry.npmjs.org"
		}
		fetchNpm(t, registry+"/npm/-/npm-"+npmVersion+".tgz", dir)
	})
}

// fetchNpm unpacks a package of npm's.
func fetchNpm(t testing.TB, url, dir string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatalf("fetching npm, which this machine does not have: %v", err)
	}
	defer resp.Body.Close()
	plain, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatalf("fetching %s: %s, %v", url, resp.Status, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	archive := tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(header.Name, "package/")
		if !ok || header.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err == nil {
			err = root.WriteFile(name, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
