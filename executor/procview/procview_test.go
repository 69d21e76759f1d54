package procview

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// kernels are files as a host at work has them.
const (
	hostStat = "cpu  2801347 113992 1268453 1224781 13558 0 18115 3028 0 0\ncpu0 1393607 58813 626850 63048 1 0 2 3 0 0\n" +
		"intr 83737 0 5 77\nctxt 9281\nbtime 1764000000\nprocesses 4711\nprocs_running 9\nprocs_blocked 3\nsoftirq 5 6 7\n"
	hostMeminfo = "MemTotal:       24684084 kB\nMemFree:         8570728 kB\nMemAvailable:   21172140 kB\nDirty:               164 kB\n" +
		"VmallocTotal:   34359738367 kB\nHugePages_Total:       3\nHugepagesize:       2048 kB\n"
)

func TestStat(t *testing.T) {
	want := "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime 1764000000\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0\n"
	if got := string(stat([]byte(hostStat))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMeminfo(t *testing.T) {
	want := "MemTotal:         131072 kB\nMemFree:          131072 kB\nMemAvailable:     131072 kB\nDirty:                 0 kB\n" +
		"VmallocTotal:   34359738367 kB\nHugePages_Total:        0\nHugepagesize:       2048 kB\n"
	if got := string(meminfo([]byte(hostMeminfo), 128<<20)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFiles makes the files of this machine, which has been at work.
func TestFiles(t *testing.T) {
	files, err := Files(256 << 20)
	shared, sharedErr := Shared()
	if err := errors.Join(err, sharedErr); err != nil {
		t.Fatal(err)
	}
	files = append(files, shared...)
	seen := map[string]string{}
	for _, f := range files {
		if seen[f.Path] = string(f.Data); !strings.HasSuffix(seen[f.Path], "\n") {
			t.Errorf("%s ends with no line: %q", f.Path, f.Data)
		}
	}
	if !strings.HasSuffix(seen[Uptime], " 0.00\n") {
		t.Errorf("%s tells how idle the host is: %q", Uptime, seen[Uptime])
	}
	if text, err := MeminfoOf(256 << 20); err != nil || string(text) != seen[Meminfo] {
		t.Errorf("%s is first %q and later %q, %v", Meminfo, seen[Meminfo], text, err)
	}
}

// TestFilesOutside: the launcher does not tell when the host was started.
func TestFilesOutside(t *testing.T) {
	files, err := FilesOutside(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == "/proc/stat" })
	if i < 0 || !strings.Contains(string(files[i].Data), fmt.Sprintf("\nbtime %d", time.Now().Unix()/100)) {
		t.Fatalf("no time of the boot in %v", files)
	}
	if host, err := uptime(); err != nil || slices.ContainsFunc(files, func(f File) bool { return f.Path == Uptime && bytes.Equal(f.Data, host) }) {
		t.Errorf("it tells the host's uptime, %q, %v", host, err)
	}
}

func TestCPUInfo(t *testing.T) {
	const host = "processor\t: 0\ncpu MHz\t\t: 2450.184\ncache size\t: 512 KB\n"
	if got, want := string(cpuInfo([]byte(host))), "processor\t: 0\ncpu MHz\t\t: 0.000\ncache size\t: 512 KB\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHide: a file that a newer kernel brings is masked, and no process.
func TestHide(t *testing.T) {
	got := Hide([]string{"1", "4711", "self", "meminfo", "sys", "pressure", "new", "1x"})
	if want := []string{"/proc/pressure", "/proc/new", "/proc/1x"}; !slices.Equal(got, want) {
		t.Errorf("hides %q, want %q", got, want)
	}
}
