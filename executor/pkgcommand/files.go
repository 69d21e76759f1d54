package pkgcommand

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yurtrun/yurt/executor/pkgsocket"
)

const (
	// maxList bounds a file that lists packages, in bytes, and maxLists how many name each other.
	maxList  = 256 << 10
	maxLists = 16
	// NodeModules is where sessions have their packages for Node.
	NodeModules = "/run/packages/node/node_modules"
	modulesDir  = "node_modules"
)

// readRequirements returns the packages that a requirements file lists, and those of the files
// that it names.
func readRequirements(name string, seen map[string]bool) ([]string, error) {
	if seen[name] {
		return nil, nil
	}
	if seen[name] = true; len(seen) > maxLists {
		return nil, fmt.Errorf("more than %d requirements files name each other", maxLists)
	}
	data, err := readFile(name, maxList)
	if err != nil {
		return nil, fmt.Errorf("reading the requirements file: %w", err)
	}
	var list []string
	text := strings.ReplaceAll(string(data), "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if at := strings.Index(" "+line, " #"); at >= 0 {
			line = strings.TrimSpace(line[:at])
		}
		more, named := strings.CutPrefix(line, "-r")
		if !named {
			more, named = strings.CutPrefix(line, "--requirement")
		}
		switch {
		case line == "":
		case named:
			inner, err := readRequirements(filepath.Join(filepath.Dir(name), strings.Trim(more, " =\t")), seen)
			if err != nil {
				return nil, err
			}
			list = append(list, inner...)
		case line[0] == '-':
			return nil, fmt.Errorf("%s has the option %.60q, which is not supported in a session; leave the line out", name, line)
		default:
			list = append(list, line)
		}
	}
	return list, nil
}

// readFile reads a file of so many bytes at most.
func readFile(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}

// project is a directory with a package.json, and how it lists the packages that npm installs.
type project struct{ global, keep, exact, dev bool }

// readProject returns the manifest in the working directory, and its lock file if there is one.
// Without a lock file the packages for development are among the others.
func readProject(production bool) (manifest, lock []byte, err error) {
	manifest, err = readFile(pkgsocket.ManifestFile, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.New("name at least one package to install, such as npm install lodash, or run it where a package.json is")
	}
	if err != nil {
		return nil, nil, err
	}
	if lock, err = readFile(pkgsocket.LockFile, maxList*2); err == nil {
		return manifest, lock, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(manifest, &fields); err != nil {
		return nil, nil, fmt.Errorf("reading package.json: %w", err)
	}
	if all := (map[string]string{}); !production {
		for _, name := range []string{"devDependencies", "dependencies"} {
			if fields[name] == nil {
				continue
			}
			if err := json.Unmarshal(fields[name], &all); err != nil {
				return nil, nil, fmt.Errorf("reading %s of package.json: %w", name, err)
			}
		}
		delete(fields, "devDependencies")
		if fields["dependencies"], err = json.Marshal(all); err != nil {
			return nil, nil, err
		}
	}
	manifest, err = json.Marshal(fields)
	return manifest, nil, err
}

// update has the working directory show the packages, as npm does: in package.json, and as a
// link node_modules where there is no such directory.
func (p *project) update(installed []pkgsocket.Package) error {
	if p.global {
		return nil
	}
	if _, err := os.Lstat(modulesDir); errors.Is(err, fs.ErrNotExist) {
		if err := os.Symlink(NodeModules, modulesDir); err != nil {
			return fmt.Errorf("the link node_modules could not be made: %w", err)
		}
	}
	if p.keep || len(installed) == 0 {
		return nil
	}
	data, err := os.ReadFile(pkgsocket.ManifestFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = []byte("{}")
	case err != nil:
		return fmt.Errorf("package.json could not be read: %w", err)
	}
	text, err := p.note(data, installed)
	if err == nil {
		err = os.WriteFile(pkgsocket.ManifestFile, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("package.json could not be changed: %w", err)
	}
	return nil
}

// note returns the manifest with the packages among its dependencies. The other fields stay as
// they are, in their order.
func (p *project) note(manifest []byte, installed []pkgsocket.Package) ([]byte, error) {
	names, fields, err := ordered(manifest)
	if err != nil {
		return nil, err
	}
	kind := "dependencies"
	if p.dev {
		kind = "devDependencies"
	}
	listed := map[string]string{}
	if fields[kind] != nil {
		if err := json.Unmarshal(fields[kind], &listed); err != nil {
			return nil, err
		}
	} else {
		names = append(names, kind)
	}
	for _, i := range installed {
		listed[i.Name] = "^" + i.Version
		if p.exact {
			listed[i.Name] = i.Version
		}
	}
	if fields[kind], err = pkgsocket.Encode(listed); err != nil {
		return nil, err
	}
	var flat, out bytes.Buffer
	for i, name := range names {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&flat, "%c%s:%s", "{,"[min(i, 1)], key, fields[name])
	}
	flat.WriteByte('}')
	if err := json.Indent(&out, flat.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// ordered returns the fields of a JSON object, and their names in their order.
func ordered(object []byte) (names []string, fields map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, nil, err
		}
		if name, ok := token.(string); ok && !seen[name] {
			names, seen[name] = append(names, name), true
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, err
		}
	}
	return names, fields, nil
}
