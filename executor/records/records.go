// Package records keeps an executor's records on the disk: small JSON files, each of which is written whole or not at all. The
// next executor on the state directory reads them, perhaps another build: each record names its version, and a record of a newer
// version is refused and not touched. The packages that write records own their content.
package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Version is the version of the records. An executor reads its own and older ones, and refuses to begin where one is newer. Since
// version 2 slots exist, and executions without an end.
const Version = 2

// ErrNewer says that a newer version wrote a record. Its content may have a meaning that this version does not know.
var ErrNewer = errors.New("it was made by a newer version of Yurt")

// Write replaces the file at path; readers see the old record or the new one.
func Write(path string, record any) error { return write(path, record, false) }

// write is Write, and waits for the disk if it is to.
func write(path string, record any, lasting bool) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("writing a record: %w", err)
	}
	temp := path + ".new"
	if err := writeFile(temp, data, lasting); err != nil {
		_ = os.Remove(temp) // a part of it on a full disk
		return fmt.Errorf("writing a record: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("writing a record: %w", err), os.Remove(temp))
	}
	return nil
}

func writeFile(path string, data []byte, lasting bool) error {
	if !lasting {
		return os.WriteFile(path, data, 0o600)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// Read reads the file at path, whole or not at all.
func Read(path string, record any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	if err := json.Unmarshal(data, record); err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	return nil
}

// CheckVersion refuses a record that a newer version wrote, independent of its other content.
func CheckVersion(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	return CheckVersionOf(data)
}

// CheckVersionOf is [CheckVersion] of a record that is no file of its own.
func CheckVersionOf(record []byte) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(record, &head); err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	if head.Version > Version {
		return fmt.Errorf("%w (record %d, this one knows %d)", ErrNewer, head.Version, Version)
	}
	return nil
}
