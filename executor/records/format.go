package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// Format is the version of the layout of an executor's directories: which records exist, and where. An executor that does not know
// where to look for sandboxes would end them as strays, so it begins with its own format and older ones alone. Directories
// without a format are from before it existed and have the first layout.
const Format = 1

// FormatFile is the name of the file, in each directory of an executor, that says the format.
const FormatFile = "format.json"

// format is the content of the file.
type format struct {
	Format int    `json:"format"`
	Yurt   string `json:"yurt"` // the version of the program that wrote it
}

// CheckFormat refuses a directory whose format this program, of that version, does not know.
func CheckFormat(dir, program string) error {
	there, err := readFormat(dir)
	if err != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "the file %s does not say which format %s has: %w; nothing in the directory was touched. "+
			"If no newer version of Yurt than this one, %q, was started on the directory, write the file anew: echo '%s' > '%[1]s'", filepath.Join(dir, FormatFile), dir, err, program, content(program))
	}
	if there.Format > Format {
		return yurt.Errorf(yurt.CodeUnavailable, "%s has format %d, of Yurt %q, and this is %q, which knows formats up to %d; nothing in it was touched. Start %[3]q again, or a newer one. "+
			"To go back, end the node's sandboxes with that first, stop it, and remove the directory", dir, there.Format, there.Yurt, program, Format)
	}
	return nil
}

// content returns the text of the file that this program, of that version, writes.
func content(program string) string {
	data, err := json.Marshal(format{Format: Format, Yurt: program})
	if err != nil {
		panic(err) // a number and a text can be encoded
	}
	return string(data)
}

// WriteFormat gives the directory the format of this version of the program, unless it has it. The file is on the disk when this
// returns: the remains of a write that a power failure cut would be refused.
func WriteFormat(dir, program string) error {
	if there, err := readFormat(dir); err == nil && there.Format == Format {
		return nil
	}
	if err := write(filepath.Join(dir, FormatFile), format{Format: Format, Yurt: program}, true); err != nil {
		return fmt.Errorf("giving %s its format: %w", dir, err)
	}
	return nil
}

// readFormat returns the format of the directory, or the zero value if the directory has no format file.
func readFormat(dir string) (format, error) {
	var f format
	data, err := readPlain(filepath.Join(dir, FormatFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return format{}, nil
	case err != nil:
		return format{}, err
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return format{}, fmt.Errorf("its %d bytes are not the JSON that Yurt writes (%w)", len(data), err)
	}
	if f.Format <= 0 {
		return format{}, fmt.Errorf("its format is %d, and formats begin with 1", f.Format)
	}
	return f, nil
}

// maxFormat bounds the file.
const maxFormat = 4 << 10

// readPlain reads a file as one that others may have put there: it follows no link and does not wait.
func readPlain(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFormat))
}
