package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt/executor/broker/child"
)

// Process is a running program of Yurt's with the power that it has over this host, as the kernel tells it. The kernel does not tell
// whether a process is under landlock.
type Process struct {
	Program      string   `json:"program"`
	PID          int      `json:"pid"`
	Parent       int      `json:"parent"`
	UID          uint32   `json:"uid"`
	Capabilities []string `json:"capabilities"` // that it has, or can take up
	Bounding     []string `json:"bounding"`     // that a program which it executes could still get
	NoNewPrivs   bool     `json:"no_new_privs"`
	Filters      int      `json:"seccomp_filters"`
	Namespaces   []string `json:"namespaces"` // those that are not the caller's
}

// Processes lists the programs of Yurt's that run on this host, those in sandboxes included, by name and number. Programs are known by the
// names of their files, which code in a sandbox can take too.
func Processes() ([]Process, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	list := []Process{}
	for _, dir := range dirs {
		p, err := processAt(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err != nil && os.IsPermission(err): // it has ended, or is another user's
		case err != nil:
			return nil, err
		case isOurs(p.Program):
			if isExecutor(dir) {
				p.Program += child.NameSuffix
			}
			list = append(list, p)
		}
	}
	nameBrokers(list)
	slices.SortFunc(list, func(a, b Process) int {
		if a.Program != b.Program {
			return strings.Compare(a.Program, b.Program)
		}
		return a.PID - b.PID
	})
	return list, nil
}

// nameBrokers tells the processes that have started an executor from others of the same program.
func nameBrokers(list []Process) {
	for _, p := range list {
		if !strings.HasSuffix(p.Program, child.NameSuffix) {
			continue
		}
		if i := slices.IndexFunc(list, func(b Process) bool { return b.PID == p.Parent }); i >= 0 {
			list[i].Program += " (broker)"
		}
	}
}

// isExecutor reports whether a process was started as an executor.
func isExecutor(dir string) bool {
	line, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return false // it has ended
	}
	name, _, _ := strings.Cut(string(line), "\x00")
	return strings.HasSuffix(name, child.NameSuffix)
}

func isOurs(program string) bool {
	return slices.Contains([]string{"yurt", "yurt-init", "yurt-launcher", "yurt-unpack", "yurt-files", "nomad-driver-yurt"}, program) || strings.HasPrefix(program, "yurt-runtime-")
}

func processAt(dir string) (Process, error) {
	program, err := os.Readlink(dir + "/exe")
	if err != nil {
		return Process{}, err
	}
	p := Process{Program: strings.TrimSuffix(strings.TrimPrefix(filepath.Base(program), "."), " (deleted)")} // in a sandbox it is .yurt-init
	if !isOurs(p.Program) {
		return p, nil
	}
	if p.PID, err = strconv.Atoi(filepath.Base(dir)); err != nil {
		return p, err
	}
	status, err := os.Open(dir + "/status")
	if err != nil {
		return p, err
	}
	defer status.Close()
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if err := p.take(name, strings.TrimSpace(value)); err != nil {
			return p, fmt.Errorf("reading %s/status: %w", dir, err)
		}
	}
	if err := lines.Err(); err != nil {
		return p, err
	}
	p.Namespaces = othersNamespaces(dir)
	return p, nil
}

// take reads one field of /proc/PID/status.
func (p *Process) take(name, value string) (err error) {
	switch name {
	case "PPid":
		p.Parent, err = strconv.Atoi(value)
	case "Uid":
		first, _, _ := strings.Cut(value, "\t")
		var uid uint64
		uid, err = strconv.ParseUint(first, 10, 32)
		p.UID = uint32(uid)
	case "CapPrm":
		p.Capabilities, err = capabilityNames(value)
	case "CapBnd":
		p.Bounding, err = capabilityNames(value)
	case "NoNewPrivs":
		p.NoNewPrivs = value == "1"
	case "Seccomp_filters":
		p.Filters, err = strconv.Atoi(value)
	}
	return err
}

// othersNamespaces lists the kinds of namespaces of the process that are not the calling one's.
func othersNamespaces(dir string) []string {
	list := []string{}
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		mine, err := os.Readlink("/proc/self/ns/" + kind)
		its, err2 := os.Readlink(dir + "/ns/" + kind)
		if err == nil && err2 == nil && mine != its {
			list = append(list, kind)
		}
	}
	return list
}

// capabilityNames reads a set as the kernel writes it, in hexadecimal.
func capabilityNames(set string) ([]string, error) {
	bits, err := strconv.ParseUint(set, 16, 64)
	if err != nil {
		return nil, err
	}
	names := []string{}
	known := []string{
		"chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap", "linux_immutable", "net_bind_service",
		"net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner", "sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin",
		"sys_boot", "sys_nice", "sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write", "audit_control", "setfcap", "mac_override",
		"mac_admin", "syslog", "wake_alarm", "block_suspend", "audit_read", "perfmon", "bpf", "checkpoint_restore",
	}
	for bit := range 64 {
		if bits&(1<<bit) == 0 {
			continue
		}
		if bit < len(known) {
			names = append(names, known[bit])
		} else {
			names = append(names, strconv.Itoa(bit))
		}
	}
	return names, nil
}

// Table has a row for each program and kind of power, with how many processes of it there are, and the number and user of the first.
func Table(list []Process) (head []string, rows [][]string) {
	counts := make(map[string]int)
	var kinds []string
	for _, p := range list {
		row := []string{p.Program, "", strconv.Itoa(p.PID), strconv.FormatUint(uint64(p.UID), 10), brief(p.Capabilities), callsOf(p), strings.Join(p.Namespaces, " ")}
		kind := strings.Join(append([]string{row[0]}, row[4:]...), "|")
		if counts[kind]++; counts[kind] == 1 {
			rows, kinds = append(rows, row), append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		rows[i][1] = strconv.Itoa(counts[kind])
	}
	return []string{"program", "count", "pid", "uid", "capabilities", "seccomp", "namespaces"}, rows
}

// brief names capabilities, as long as they are few.
func brief(capabilities []string) string {
	const few = 6
	switch n := len(capabilities); {
	case n == 0:
		return "none"
	case n <= few:
		return strings.Join(capabilities, " ")
	default:
		return strconv.Itoa(n)
	}
}

// callsOf says whether the process may make all system calls.
func callsOf(p Process) string {
	text := "no list"
	if p.Filters > 0 {
		text = "list"
	}
	if p.NoNewPrivs {
		text += ", no new privileges"
	}
	return text
}
