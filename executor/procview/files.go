package procview

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// File is a file with contents of a sandbox's own. Path is that of the file of /proc in whose place it is.
type File struct {
	Path string
	Data []byte
}

// The files that change in the life of a sandbox.
const (
	Meminfo = "/proc/meminfo"
	Uptime  = "/proc/uptime"
)

// substitute makes the contents of a file from those of the kernel's.
type substitute struct {
	path string
	make func(kernels []byte) []byte
}

func constant(text string) func([]byte) []byte { return func([]byte) []byte { return []byte(text) } }

// shared are the files that differ between machines alone.
func shared() []substitute {
	return []substitute{
		{"/proc/cpuinfo", cpuInfo},
		{"/proc/loadavg", constant("0.00 0.00 0.00 1/1 1\n")},
		{"/proc/swaps", constant("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")},
		{"/proc/vmstat", zeros},
		{"/proc/sys/kernel/core_pattern", constant("core\n")}, // the host's may name a program
		{"/proc/sys/kernel/random/entropy_avail", constant("256\n")},
		{"/proc/sys/kernel/tainted", constant("0\n")},
	}
}

// SharedPaths returns the paths of the files that [Shared] makes.
func SharedPaths() (paths []string) {
	for _, f := range shared() {
		paths = append(paths, f.path)
	}
	return paths
}

// Shared returns the files that are the same in all sandboxes of a machine.
func Shared() ([]File, error) { return read(shared()) }

// Files returns the files for a sandbox with so much memory, without those of [Shared]. The calling process must be in the time
// namespace of the sandbox.
func Files(memory int64) ([]File, error) {
	list, err := read([]substitute{{"/proc/stat", stat}, {Meminfo, func(kernels []byte) []byte { return meminfo(kernels, memory) }}})
	if err != nil {
		return nil, err
	}
	bootID, err := os.ReadFile("/proc/sys/kernel/random/uuid") // another one with each read
	if err != nil {
		return nil, fmt.Errorf("making a sandbox's boot id: %w", err)
	}
	now, err := uptime()
	if err != nil {
		return nil, err
	}
	return append(list, File{"/proc/sys/kernel/random/boot_id", bootID}, File{Uptime, now}), nil
}

func read(list []substitute) (files []File, err error) {
	for _, f := range list {
		kernels, err := os.ReadFile(f.path)
		if err != nil {
			return nil, fmt.Errorf("making a sandbox's %s: %w", f.path, err)
		}
		files = append(files, File{f.path, f.make(kernels)})
	}
	return files, nil
}

// FilesOutside returns the files of [Files] for a sandbox that is about to begin, in a process that is not in its time namespace.
func FilesOutside(memory int64) ([]File, error) {
	files, err := Files(memory)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		switch f.Path {
		case "/proc/stat":
			files[i].Data = eachLine(f.Data, func(line string) string {
				if strings.HasPrefix(line, "btime ") {
					return fmt.Sprintf("btime %d", time.Now().Unix())
				}
				return line
			})
		case Uptime: // no process writes it again
			files[i].Data = []byte("1.00 0.00\n")
		}
	}
	return files, nil
}

// MeminfoOf returns the contents of [Meminfo] for a sandbox with so much memory.
func MeminfoOf(memory int64) ([]byte, error) {
	kernels, err := os.ReadFile(Meminfo)
	if err != nil {
		return nil, fmt.Errorf("making a sandbox's %s: %w", Meminfo, err)
	}
	return meminfo(kernels, memory), nil
}

// cpuInfo leaves out the frequencies, which follow the load.
func cpuInfo(kernels []byte) []byte {
	return eachLine(kernels, func(line string) string {
		if label, _, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(label, "cpu MHz") {
			return label + ": 0.000"
		}
		return line
	})
}

// uptime is the age of the time namespace, and no idle time: that is the host's.
func uptime() ([]byte, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return nil, fmt.Errorf("making a sandbox's %s: %w", Uptime, err)
	}
	return fmt.Appendf(nil, "%d.%02d 0.00\n", now.Sec, now.Nsec/int64(10*time.Millisecond)), nil
}

// stat keeps the processors and the time of the boot, which is the sandbox's: programs add it to the start of a process.
func stat(kernels []byte) []byte {
	return eachLine(kernels, func(line string) string {
		label, _, _ := strings.Cut(line, " ")
		switch label {
		case "btime":
			return line
		case "processes", "procs_running":
			return label + " 1"
		case "intr": // a figure for each of hundreds of sources
			return label + " 0"
		default:
			return zero(line)
		}
	})
}

// zeros replaces all figures.
func zeros(kernels []byte) []byte { return eachLine(kernels, zero) }

// zero replaces the figures of a line, which follow its label.
func zero(line string) string {
	label, figures, _ := strings.Cut(line, " ")
	return label + strings.Repeat(" 0", len(strings.Fields(figures)))
}

// meminfo shows the sandbox's limit as the size of a machine whose memory is free.
func meminfo(kernels []byte, memory int64) []byte {
	return eachLine(kernels, func(line string) string {
		label, figure, _ := strings.Cut(line, ":")
		value := int64(0)
		switch label {
		case "MemTotal", "MemFree", "MemAvailable", "CommitLimit":
			value = memory / 1024
		case "Hugepagesize", "VmallocTotal": // of the architecture
			return line
		}
		unit := ""
		if strings.HasSuffix(figure, " kB") {
			unit = " kB"
		}
		return fmt.Sprintf("%-15s %8d%s", label+":", value, unit)
	})
}

func eachLine(text []byte, change func(string) string) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		out.WriteString(change(strings.TrimSuffix(line, "\n")))
		out.WriteByte('\n')
	}
	return out.Bytes()
}
