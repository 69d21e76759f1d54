package conformance

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/yurtrun/yurt"
)

// Names of samples; the documentation of the package describes each.
const (
	projectDir = "project"
	stateSet   = "state-set"
	stateGet   = "state-get"
)

// Samples are the programs of one language.
type Samples struct {
	programs map[string]string // by name, such as "snippet"
	entry    string
	project  []yurt.SourceFile
}

// sampleNames are those of the programs that every language has.
func sampleNames() []string {
	return []string{
		"snippet", "unicode", "arguments", "stdin", "exit", "compile-error", "runtime-error", "output", "recursion", "endless",
	}
}

// keepsState reports whether there are samples of a language that keeps state.
func (s Samples) keepsState() bool { return s.programs[stateSet] != "" }

// ReadSamples reads the samples in a directory. All must be there but those of languages that keep
// state.
func ReadSamples(dir fs.FS) (Samples, error) {
	samples := Samples{programs: make(map[string]string)}
	names := sampleNames()
	if found, err := fs.Glob(dir, stateSet+".*"); err == nil && len(found) > 0 {
		names = append(names, stateSet, stateGet)
	}
	for _, name := range names {
		file, err := one(dir, name+".*")
		if err != nil {
			return Samples{}, err
		}
		data, err := fs.ReadFile(dir, file)
		if err != nil {
			return Samples{}, fmt.Errorf("reading the sample %s: %w", name, err)
		}
		samples.programs[name] = string(data)
	}
	project, err := fs.Sub(dir, projectDir)
	if err != nil {
		return Samples{}, fmt.Errorf("reading the sample project: %w", err)
	}
	if samples.project, err = readProject(project); err != nil {
		return Samples{}, err
	}
	for _, file := range samples.project {
		if base := path.Base(file.Path); strings.TrimSuffix(strings.ToLower(base), path.Ext(base)) == "main" {
			samples.entry = file.Path
		}
	}
	if samples.entry == "" || len(samples.project) < 2 {
		return Samples{}, yurt.Errorf(yurt.CodeFileNotFound, "the samples lack a directory %s with a file \"main\" and others beside it", projectDir)
	}
	return samples, nil
}

func readProject(dir fs.FS) ([]yurt.SourceFile, error) {
	var files []yurt.SourceFile
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		files = append(files, yurt.SourceFile{Path: name, Data: data})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the sample project: %w", err)
	}
	return files, nil
}

func one(dir fs.FS, pattern string) (string, error) {
	found, err := fs.Glob(dir, pattern)
	switch {
	case err != nil:
		return "", fmt.Errorf("looking for samples: %w", err)
	case len(found) != 1:
		return "", yurt.Errorf(yurt.CodeFileNotFound, "there must be one sample %s, and there are %d", pattern, len(found))
	}
	return found[0], nil
}
