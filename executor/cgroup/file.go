package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// write sets one control file. These files take a value whole or not at all. One
// that this kernel does not have is [os.ErrNotExist], which it would not be if the
// kernel were asked to create it.
func write(dir, file, value string) error {
	fail := func(err error) error {
		return fmt.Errorf("setting %s to %q: %w", file, value, &os.PathError{Op: "write", Path: filepath.Join(dir, file), Err: err})
	}
	if err := writeControl(filepath.Join(dir, file), value); err != nil {
		return fail(err)
	}
	return nil
}

func writeInt(dir, file string, value int64) error {
	return write(dir, file, strconv.FormatInt(value, 10))
}

func readInt(dir, file string) (int64, error) {
	data, err := readControl(filepath.Join(dir, file))
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", file, err)
	}
	return parseInt(file, data)
}

func parseInt(file string, data []byte) (int64, error) {
	value, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", file, err)
	}
	return value, nil
}

// readField returns the value of one line "key value" of a control file.
func readField(dir, file, key string) (int64, error) {
	data, err := readControl(filepath.Join(dir, file))
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", file, err)
	}
	return parseField(file, data, key)
}

func parseField(file string, data []byte, key string) (int64, error) {
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == key {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("reading %s: no %s", file, key)
}

// pids lists the processes in the directory, without those below it.
func pids(dir string) ([]int, error) {
	data, err := readControl(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var list []int
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("reading cgroup.procs: %w", err)
		}
		list = append(list, pid)
	}
	return list, nil
}

// single reports whether the file of that name lists one task.
func single(dir, file string) (bool, error) {
	data, err := readControl(filepath.Join(dir, file))
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", file, err)
	}
	return len(strings.Fields(string(data))) == 1, nil
}

func count(dir string) (int, error) {
	list, err := pids(dir)
	return len(list), err
}
