package arch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// CheckLicense reports a linked package whose licence forbids what Yurt is for, or
// that has none. The licence of a package is the one nearest above its files, as
// some modules give parts of themselves another.
func CheckLicense(p Package) []string {
	if p.Standard || p.Module == nil || p.Module.Path == Module {
		return nil
	}
	name, text, err := nearestLicense(p.Dir, p.Module.Dir)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v; what gives no licence may not be linked", p.ImportPath, err)}
	}
	if isBusinessSource(text) {
		return []string{fmt.Sprintf("%s is linked under the Business Source License (%s), which forbids competing offers; "+
			"link its MPL or MIT parts alone, or do without", p.ImportPath, name)}
	}
	return nil
}

func isBusinessSource(text string) bool {
	return regexp.MustCompile(`(?i)business\s+source\s+licen[sc]e`).MatchString(text)
}

// nearestLicense looks in dir and upwards until it has looked in top.
func nearestLicense(dir, top string) (name, text string, err error) {
	pattern := regexp.MustCompile(`(?i)^(licen[sc]e|copying|unlicense)`)
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", "", fmt.Errorf("looking for a licence: %w", err)
		}
		if names, text := licensesOf(dir, entries, pattern); text != "" {
			return names, text, nil
		}
		if dir == top || !strings.HasPrefix(dir, top) {
			return "", "", errors.New("has no licence file")
		}
		dir = filepath.Dir(dir)
	}
}

// licensesOf joins every licence of one directory: dual licences come in two files.
func licensesOf(dir string, entries []fs.DirEntry, pattern *regexp.Regexp) (names, text string) {
	for _, entry := range entries {
		if entry.IsDir() || !pattern.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err == nil {
			names, text = names+entry.Name()+" ", text+string(data)
		}
	}
	return strings.TrimSpace(names), text
}
