package packages

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxViewEntries bounds the links of a view.
const maxViewEntries = 20_000

// Shown is a layer as a view shows it: its files on the host, and where the sandbox has them.
type Shown struct {
	Tree, Mount string

	root *os.Root // links in a layer are made by its packages, and may lead anywhere
}

// View is a directory of links that shows several layers as one. A package of a later layer
// stands in for that of an earlier one.
type View struct {
	links map[string]string // path in the view → target
	dirs  []string          // that are directories of the view's own, parents first
	dists map[string]string // distributions of Python, by their normalized names → version
}

// NewView returns the view of the layers, the latest first.
func NewView(layers []Shown) (*View, error) {
	v := &View{links: make(map[string]string), dists: make(map[string]string)}
	defer closeRoots(layers)
	for i, l := range layers {
		root, err := os.OpenRoot(l.Tree)
		if err != nil {
			return nil, fmt.Errorf("reading a layer: %w", err)
		}
		layers[i].root = root
	}
	for i := range layers {
		if err := v.add(layers[i:], ""); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func closeRoots(layers []Shown) {
	for _, l := range layers {
		if l.root != nil {
			l.root.Close()
		}
	}
}

// add shows the entries that the first of the layers has in a directory.
func (v *View) add(layers []Shown, dir string) error {
	l := layers[0]
	entries, err := fs.ReadDir(l.root.FS(), cmp.Or(dir, "."))
	if err != nil {
		return fmt.Errorf("reading a layer: %w", err)
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		_, shown := v.links[name]
		joined := slices.Contains(v.dirs, name)
		switch {
		case shown, joined && !entry.IsDir(), v.isOlder(name): // a later layer has it
		case joined:
			err = v.add(layers, name)
		case v.joins(layers, name, entry):
			v.dirs = append(v.dirs, name)
			err = v.add(layers, name)
		default:
			v.links[name] = filepath.Join(l.Mount, name)
		}
		if err != nil {
			return err
		}
		if len(v.links) > maxViewEntries {
			return errors.New("the packages have more parts than a session can show; use another session")
		}
	}
	return nil
}

// isOlder notes the metadata of a distribution, and reports whether a later layer has others.
func (v *View) isOlder(name string) bool {
	dist, version, ok := distOf(name)
	if !ok {
		return false
	}
	had, there := v.dists[dist]
	if !there {
		v.dists[dist] = version
	}
	return there && had != version
}

// joins reports whether a directory is one that several distributions share, and that a layer
// further down has too: bin, a scope of npm, and a package of Python without a file of its own.
func (v *View) joins(layers []Shown, name string, entry fs.DirEntry) bool {
	if !entry.IsDir() || strings.Count(name, "/") > 8 {
		return false
	}
	if base := entry.Name(); name == "bin" || name == "node_modules" || filepath.Dir(name) == "node_modules" && (base[0] == '@' || base == ".bin") {
		return true
	}
	if strings.HasPrefix(name, "node_modules/") || isPackage(layers[0], name) {
		return false
	}
	return slices.ContainsFunc(layers[1:], func(l Shown) bool {
		info, err := l.root.Lstat(name)
		return err == nil && info.IsDir() && !isPackage(l, name)
	})
}

func isPackage(l Shown, name string) bool {
	_, err := l.root.Lstat(name + "/__init__.py")
	return err == nil || strings.HasSuffix(name, ".dist-info") || strings.HasSuffix(name, ".libs")
}

// Write makes the directory show the view, piece by piece: links that stay are not touched.
func (v *View) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("showing packages: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("showing packages: %w", err)
	}
	defer root.Close()
	for _, d := range v.dirs {
		if err := directory(root, d); err != nil {
			return fmt.Errorf("showing packages: %w", err)
		}
	}
	for name, target := range v.links {
		if err := link(root, name, target); err != nil {
			return fmt.Errorf("showing packages: %w", err)
		}
	}
	return v.prune(root)
}

// directory makes a directory, in place of another entry of that name.
func directory(root *os.Root, name string) error {
	if info, err := root.Lstat(name); err == nil && !info.IsDir() {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	return root.MkdirAll(name, 0o755)
}

// link makes a link, in place of another entry of that name.
func link(root *os.Root, name, target string) error {
	if had, err := root.Readlink(name); err == nil && had == target {
		return nil
	}
	info, err := root.Lstat(name)
	if err == nil && info.IsDir() {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	next := name + ".yurt-new"
	if err := root.Symlink(target, next); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return root.Rename(next, name)
}

// prune removes the entries that the view does not show any more.
func (v *View) prune(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if _, linked := v.links[name]; linked || slices.Contains(v.dirs, name) {
			return nil
		}
		if err := root.RemoveAll(name); err != nil || !entry.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

// Dists returns the distributions of Python in a layer, by normalized name.
func Dists(tree string) (map[string]string, error) {
	entries, err := os.ReadDir(tree) // which is no link
	if err != nil {
		return nil, fmt.Errorf("reading a layer: %w", err)
	}
	dists := make(map[string]string)
	for _, entry := range entries {
		if name, version, ok := distOf(entry.Name()); ok && entry.IsDir() {
			dists[name] = version
		}
	}
	return dists, nil
}

// distOf returns the distribution whose metadata are in the directory.
func distOf(name string) (dist, version string, ok bool) {
	stem, ok := strings.CutSuffix(name, ".dist-info")
	if !ok || strings.Contains(stem, "/") {
		return "", "", false
	}
	dist, version, ok = strings.Cut(stem, "-")
	odd := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+!", r)
	}
	if !ok || dist == "" || version == "" || strings.ContainsFunc(dist, odd) || strings.ContainsFunc(version, odd) {
		return "", "", false
	}
	return Normalized(dist), version, true
}

// Normalized returns the one form of a distribution's name.
func Normalized(name string) string {
	name = strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	return name
}

// maxManifest bounds how much is read of a manifest in a layer, in bytes.
const maxManifest = 1 << 20

// Modules returns the packages of Node that a layer was made for, with their versions.
func Modules(tree string) (map[string]string, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, fmt.Errorf("reading a layer: %w", err)
	}
	defer root.Close()
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := readJSON(root, "package.json", &manifest); err != nil {
		return nil, err
	}
	modules := make(map[string]string)
	for name := range manifest.Dependencies {
		var module struct {
			Version string `json:"version"`
		}
		// A package that is not there is an optional one.
		if filepath.IsLocal(name) && readJSON(root, "node_modules/"+name+"/package.json", &module) == nil {
			modules[name] = module.Version
		}
	}
	return modules, nil
}

// readJSON reads a regular file of a layer.
func readJSON(root *os.Root, name string, into any) error {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("reading a layer: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxManifest {
		return fmt.Errorf("reading a layer: %s is no regular file, or has more than %d bytes", name, maxManifest)
	}
	if err := json.NewDecoder(io.LimitReader(file, maxManifest)).Decode(into); err != nil {
		return fmt.Errorf("reading %s in a layer: %w", name, err)
	}
	return nil
}
