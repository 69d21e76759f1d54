package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadIO: a sandbox's bytes read and written are the sums over the disks, in the words of each version; a kernel
// that does not count them yields zero.
func TestReadIO(t *testing.T) {
	for name, c := range map[string]struct {
		file, text  string
		read        func(dir string) (read, wrote int64, err error)
		wantR, want int64
		wantErr     bool
	}{
		"version 1":          {"blkio.throttle.io_service_bytes_recursive", "8:0 Read 4096\n8:0 Write 100\n8:0 Total 4196\n7:1 Read 4\n7:1 Discard 9\nTotal 4209\n", readIOV1, 4100, 100, false},
		"nothing counted":    {"blkio.throttle.io_service_bytes_recursive", "Total 0\n", readIOV1, 0, 0, false},
		"no file of 1":       {"", "", readIOV1, 0, 0, false},
		"no number of 1":     {"blkio.throttle.io_service_bytes_recursive", "8:0 Read many\n", readIOV1, 0, 0, true},
		"version 2":          {"io.stat", "8:0 rbytes=4096 wbytes=100 rios=1 wios=1 dbytes=7 dios=0\n7:1 rbytes=4 wbytes=0\n", readIOV2, 4100, 100, false},
		"a disk without any": {"io.stat", "8:16\n", readIOV2, 0, 0, false},
		"no file of 2":       {"", "", readIOV2, 0, 0, false},
		"no number of 2":     {"io.stat", "8:0 rbytes=many\n", readIOV2, 0, 0, true},
	} {
		dir := t.TempDir()
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		read, wrote, err := c.read(dir)
		if read != c.wantR || wrote != c.want || (err != nil) != c.wantErr {
			t.Errorf("%s: %d, %d, %v", name, read, wrote, err)
		}
	}
}
