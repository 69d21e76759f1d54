package compat

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

// npmDir returns the directory of npm itself.
func npmDir(t *testing.T) string {
	t.Helper()
	if found, err := exec.LookPath("npm"); err == nil {
		if cli, err := filepath.EvalSymlinks(found); err == nil && path.Base(cli) == "npm-cli.js" {
			return filepath.Dir(filepath.Dir(cli))
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "yurt-test", "npm-"+npmVersion)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	making, err := os.MkdirTemp(filepath.Dir(dir), "npm-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(making) // if it is still there
	registry := strings.TrimSuffix(os.Getenv("npm_config_registry"), "/")
	if registry == "" {
		registry = "https://registry.npmjs.org"
	}
	fetch(t, registry+"/npm/-/npm-"+npmVersion+".tgz", making)
	if err := errors.Join(os.Chmod(making, 0o755), os.Rename(making, dir)); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return dir
}

// fetch unpacks a package of npm's.
func fetch(t *testing.T, url, dir string) {
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
