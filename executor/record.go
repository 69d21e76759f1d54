package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// recordVersion is the version of what is written. An executor reads its own and
// older ones, and refuses to begin where one is newer. Since version 2 there are slots, and executions
// without an end.
const recordVersion = 2

// sandboxRecord is what is kept of a sandbox on disk, from the moment it is ready to
// the one it is destroyed.
type sandboxRecord struct {
	Version   int                `json:"version"`
	Spec      yurt.SandboxSpec   `json:"spec"`
	IDBase    uint32             `json:"id_base"`
	CreatedAt time.Time          `json:"created_at"`
	Init      processIdentity    `json:"init"`
	Warm      bool               `json:"warm,omitempty"` // in the reserve: nobody's yet
	Slot      string             `json:"slot,omitempty"` // that it is in
	Phases    map[string]float64 `json:"phases_ms"`
	PausedAt  *time.Time         `json:"paused_at,omitempty"`  // nil while it runs
	PausedFor time.Duration      `json:"paused_for,omitempty"` // by all pauses that ended
	Layers    []string           `json:"layers,omitempty"`     // that are mounted, or about to be
	Installs  bool               `json:"installs,omitempty"`   // it is the executor's own, and installs packages
}

// runRecord is what is kept of an execution on disk, as the first entry of its log.
type runRecord struct {
	Version int                `json:"version"`
	ID      string             `json:"id"`
	Kind    yurt.ExecutionKind `json:"kind"`
	planRecord
	Limit    yurt.Size     `json:"output_limit"`
	Timeout  yurt.Duration `json:"timeout"`
	Deadline time.Time     `json:"deadline"` // unless it is paused, see sandbox.timeLeft
	// PausedBefore is how long the sandbox had been paused when the run began.
	PausedBefore time.Duration `json:"paused_before,omitempty"`
	// Layer is set when the run began with an installation: there is no process before that
	// is over, and the deadline counts from there.
	Layer string `json:"layer,omitempty"`
	// Cell is set for an execution in a context: all of it, as it may have to wait for
	// its turn for longer than this executor lives.
	Cell *yurt.ExecutionSpec `json:"cell,omitempty"`
	// Endless says that it has no deadline, and its output goes to Logs or nowhere.
	Endless bool           `json:"endless,omitempty"`
	Logs    *yurt.LogFiles `json:"logs,omitempty"`
}

// planRecord is what is kept of a plan: what it takes to read how it ended.
type planRecord struct {
	Format    plugins.ResultFormat `json:"format"`
	Language  string               `json:"language,omitempty"`
	Interpret bool                 `json:"interpret,omitempty"`
	Compiles  int                  `json:"compiles,omitempty"` // steps before the run
	Root      string               `json:"root,omitempty"`
	Entry     string               `json:"entry,omitempty"`
}

// processIdentity names a process for good: its number is used again after it, the
// moment at which it began in this boot is not.
type processIdentity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot
	Boot  string `json:"boot"`
}

func identify(pid int) (processIdentity, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return processIdentity{}, fmt.Errorf("identifying the boot: %w", err)
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return processIdentity{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	// The command, in parentheses, may hold anything; the start is field 22, the
	// 20th after it.
	_, after, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), ") ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return processIdentity{}, fmt.Errorf("identifying process %d: it has ended", pid)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return processIdentity{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	return processIdentity{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// alive reports whether the process of this identity is there.
func (p processIdentity) alive() bool {
	now, err := identify(p.PID)
	return err == nil && now == p
}

// writeRecord replaces the file at path; readers see the old record or the new one.
func writeRecord(path string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("writing a record: %w", err)
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		_ = os.Remove(temp) // a part of it on a full disk
		return fmt.Errorf("writing a record: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("writing a record: %w", err), os.Remove(temp))
	}
	return nil
}

func readRecord(path string, record any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	if err := json.Unmarshal(data, record); err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	return nil
}

// CgroupName names the directory, in each cgroup hierarchy, of the executor on the
// state directory, an absolute path. Several executors on one machine never touch
// each other's.
func CgroupName(stateDir string) string {
	sum := sha256.Sum256([]byte(stateDir))
	return "yurt-" + hex.EncodeToString(sum[:6])
}
