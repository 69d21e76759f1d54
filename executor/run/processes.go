package run

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// maxArgsShown bounds the arguments of a process that are shown, in bytes.
const maxArgsShown = 4096

// Processes lists the processes in the sandbox, its init left out, by number.
func (s *Sandbox) Processes() ([]yurt.Process, error) {
	found, err := s.findProcesses()
	if err != nil {
		return nil, err
	}
	list := make([]yurt.Process, 0, len(found))
	for _, p := range found {
		list = append(list, p.Process)
	}
	slices.SortFunc(list, func(a, b yurt.Process) int { return cmp.Compare(a.PID, b.PID) })
	return list, nil
}

// SignalProcess sends a signal to one process, by its number inside the sandbox.
func (s *Sandbox) SignalProcess(pid int, signal yurt.Signal) error {
	isIt := func(p hostProcess) bool { return p.PID == pid }
	found, err := s.findProcesses()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(found, isIt)
	if at < 0 {
		return noProcess(pid)
	}
	process, err := procid.Of(found[at].host)
	if err != nil {
		return noProcess(pid)
	}
	// Either the number has belonged to this process all along, or the process of the identity is gone and gets no signal.
	again, err := s.findProcesses()
	if err != nil {
		return err
	}
	if err := s.CheckUsable(); err != nil {
		return err
	}
	if at2 := slices.IndexFunc(again, isIt); at2 < 0 || again[at2].host != found[at].host {
		return noProcess(pid)
	}
	err = s.Broker.Signal(s.ID(), process, signal)
	if yurt.CodeOf(err) == yurt.CodeProcessNotFound {
		return noProcess(pid)
	}
	return err
}

func noProcess(pid int) error {
	return yurt.Errorf(yurt.CodeProcessNotFound, "the sandbox has no process %d", pid)
}

// hostProcess is a process and its number on the host.
type hostProcess struct {
	yurt.Process

	host int
}

func (s *Sandbox) findProcesses() ([]hostProcess, error) {
	runs, err := s.Gauge.Processes()
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeSandboxFailed, "listing the processes of sandbox %s: %w", s.ID(), err)
	}
	var list []hostProcess
	for run, pids := range runs {
		run, _, _ = strings.Cut(run, ".") // of a fork that waits, the zygote
		for _, pid := range pids {
			if p, ok := describe(pid); ok {
				p.ExecutionID = run
				list = append(list, hostProcess{p, pid})
			}
		}
	}
	return list, nil
}

// describes is how often a process is read that becomes another program meanwhile.
const describes = 5

// describe reads a process from /proc; ok is false when it is gone. The name and the arguments
// come from two files. A process that calls execve between the two reads is read again, so that both are of
// one program; during its exec itself the kernel shows the new name and no arguments yet.
func describe(pid int) (p yurt.Process, ok bool) {
	for range describes {
		program := programOf(pid)
		if p, ok = readStatus(pid); !ok {
			return p, false
		}
		if p.Args = arguments(pid); programOf(pid) == program {
			break
		}
	}
	return p, true
}

// argStart is the place, in /proc/PID/stat after the name, of the address of the arguments.
const argStart = 45

// programOf tells the programs apart that a process becomes one after the other, by the address of their
// arguments: the kernel chooses it anew at each execve. The arguments themselves do not tell a program that
// became another and then the first again.
func programOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= argStart {
		return ""
	}
	return fields[argStart]
}

// readStatus reads all of a process but its arguments.
func readStatus(pid int) (p yurt.Process, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return p, false
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		switch key {
		case "Name":
			p.Name = strings.ToValidUTF8(strings.TrimSpace(value), "�")
		case "State":
			p.State = strings.Trim(strings.Join(fields[1:], " "), "()")
		case "NSpid": // its number here, in the sandbox, and in namespaces nested there
			if len(fields) > 1 {
				p.PID = number(fields[1])
			}
		case "PPid":
			p.ParentPID = insideNumber(number(fields[0]))
		case "VmRSS":
			p.MemoryBytes = int64(number(fields[0])) << 10
		}
	}
	return p, p.PID > 0
}

// insideNumber returns the number that a process has inside its sandbox, or 0.
func insideNumber(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "NSpid:" {
			return number(fields[2])
		}
	}
	return 0
}

// number parses a decimal number of the kernel; 0 if it is not one.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func arguments(pid int) []string {
	file, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return []string{}
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxArgsShown))
	if err != nil || len(data) == 0 {
		return []string{}
	}
	return strings.Split(strings.ToValidUTF8(string(bytes.TrimSuffix(data, []byte{0})), "�"), "\x00")
}
