package attack

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/seccomp"
	"github.com/yurtrun/yurt/test/testutil"
)

//go:embed hoard.py
var hoardPrelude string

// uncharged is how much of the kernel's memory a sandbox may hold beyond the charge of its cgroup.
const uncharged = int64(16 << 20)

// TestEveryKindIsFilled: a hoard fills each kind of object that the list of system calls lets code make. A call that is added
// to the list fails this test until it is with a hoard, or with those that leave no object in the kernel.
func TestEveryKindIsFilled(t *testing.T) {
	filled := make(map[string]bool)
	for _, kind := range harmless() {
		filled[kind] = true
	}
	for name, h := range hoards() {
		for _, kind := range h.kinds {
			if slices.Contains(harmless(), kind) {
				t.Errorf("%q fills %s, which is said to leave nothing behind", name, kind)
			}
			filled[kind] = true
		}
	}
	listed := make(map[string]bool)
	for _, group := range seccomp.Base() {
		for _, rule := range group.Rules {
			if rule.Answer == seccomp.Allow {
				for _, kind := range kindsOf(rule) {
					listed[kind] = true
				}
			}
		}
	}
	for kind := range listed {
		if !filled[kind] {
			t.Errorf("the list allows %s, and no hoard fills it", kind)
		}
	}
	for kind := range filled {
		if !listed[kind] {
			t.Errorf("%s is filled, and the list does not allow it", kind)
		}
	}
}

// kindsOf names the kinds of objects that a rule allows to be made: the calls, and of sockets the domain, type and protocol.
func kindsOf(rule seccomp.Rule) []string {
	var kinds []string
	for _, call := range rule.Calls {
		if call == "socket" || call == "socketpair" {
			args := make([]uint64, 3)
			for _, c := range rule.When {
				args[c.Arg] = c.Value
			}
			call = fmt.Sprintf("%s %d %d %d", call, args[0], args[1], args[2])
		}
		kinds = append(kinds, call)
	}
	return kinds
}

// hoardingTime is how long the processes of a hoard allocate.
const hoardingTime = 2 * time.Second

func (h hoard) program() string {
	var text strings.Builder
	text.WriteString(prelude + hoardPrelude + "\ndef fill(at):\n")
	for line := range strings.Lines(strings.TrimSpace(h.fill) + "\n") {
		text.WriteString("    " + line)
	}
	fmt.Fprintf(&text, "hoard(fill, %f)\n", hoardingTime.Seconds())
	return text.String()
}

// fill has the hoard filled in the sandboxes, all at once, and returns how much of the kernel's memory that took beyond
// the charges of cgroups. Other programs on the machine take and free memory of the kernel meanwhile. A hoard takes its share each time
// that it is filled, and they do not, so the least of several measurements counts. One that is within bounds ends the series.
func (a *arena) fill(t *testing.T, h hoard, sandboxes []string, most int64) int64 {
	t.Helper()
	var steady, others []int64
	for range tries {
		lost, moved := a.fillOnce(t, h, sandboxes)
		switch {
		case lost < -uncharged/2 || moved > uncharged/2: // others freed or took that much
			others = append(others, lost)
		case lost <= most:
			return lost
		default:
			steady = append(steady, lost)
		}
	}
	t.Logf("the measurements are %d, and %d while other programs took and freed memory", steady, others)
	if len(steady) > 0 {
		return slices.Min(steady)
	}
	slices.Sort(others)
	return others[len(others)/2]
}

// tries is how often a hoard is measured on a machine that does something else too.
const tries = 10

// fillOnce fills the hoard once. moved is how much the memory without the hoard differed before and after it.
func (a *arena) fillOnce(t *testing.T, h hoard, sandboxes []string) (lost, moved int64) {
	t.Helper()
	before := unaccounted(t)
	runs := make([]yurt.ExecutionSpec, len(sandboxes))
	for i, sandbox := range sandboxes {
		runs[i] = a.startHoard(t, sandbox, h)
	}
	for i, sandbox := range sandboxes {
		a.awaitFull(t, sandbox, runs[i].ID)
	}
	full := unaccounted(t)
	if full-before > uncharged {
		shrink(t)
		full = unaccounted(t)
	}
	for i, sandbox := range sandboxes {
		_ = a.SignalExecution(t.Context(), sandbox, runs[i].ID, yurt.SignalKill) // it may have been ended for want of memory
		if _, err := a.WaitExecution(t.Context(), sandbox, runs[i].ID); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond) // for memory that the kernel frees late
	after := unaccounted(t)
	return full - (before+after)/2, max(after-before, before-after)
}

// startHoard starts the program. A sandbox whose last hoard fought for its memory may be too slow to start the next one for some seconds.
func (a *arena) startHoard(t *testing.T, sandbox string, h hoard) (run yurt.ExecutionSpec) {
	t.Helper()
	var err error
	for range 6 {
		run = command("/usr/bin/python3", "-c", h.program())
		run.Timeout = yurt.Duration(time.Minute)
		if err = a.StartExecution(t.Context(), sandbox, run); err == nil {
			return run
		}
		time.Sleep(2 * time.Second)
	}
	t.Fatal(err)
	return run
}

// unaccounted is the kernel's memory that no cgroup is charged for: the median of some samples, of a moment in which they differ
// little, should one come soon.
func unaccounted(t *testing.T) int64 {
	t.Helper()
	for try := 1; ; try++ {
		samples := make([]int64, 15)
		for i := range samples {
			samples[i] = kernelMemory(t) - charged(t)
			time.Sleep(20 * time.Millisecond)
		}
		slices.Sort(samples)
		if spread := samples[len(samples)-1] - samples[0]; spread <= uncharged/4 || try == quietTries {
			return samples[len(samples)/2]
		}
	}
}

// shrink has the kernel give back the names and inodes that it keeps without need. A program of the host that reads /proc/PID/fd, as a
// monitor does, makes one for each descriptor that it sees in a sandbox.
func shrink(t *testing.T) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("2"), 0); err != nil {
		t.Fatal(err)
	}
}

// quietTries bounds the wait for a quiet moment to two seconds.
const quietTries = 5

// awaitFull returns when the program says that it has all that it could get, or has ended.
func (a *arena) awaitFull(t *testing.T, sandbox, run string) {
	t.Helper()
	full := fmt.Errorf("full")
	_ = a.WatchExecution(t.Context(), sandbox, run, 0, func(e yurt.Event) error {
		switch {
		case e.Type == yurt.EventStdout && strings.Contains(string(e.Data), "full"):
			return full
		case e.Type == yurt.EventStderr:
			t.Logf("the hoard says %.2000s", e.Data)
		}
		return nil
	})
}

// onProcessors is how many bytes of free pages the kernel keeps at hand for each processor, which MemFree does not count. On a machine of
// 24 GiB they can be 400 MiB.
func onProcessors(t *testing.T) (sum int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/zoneinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "count:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n * int64(os.Getpagesize())
		}
	}
	return sum
}

// kernelMemory is how many bytes the host has for neither files nor pages of processes.
func kernelMemory(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]int64)
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		n, _ := strconv.ParseInt(fields[1], 10, 64)
		values[fields[0]] = n << 10
	}
	return values["MemTotal:"] - values["MemFree:"] - values["Buffers:"] - values["Cached:"] - values["SwapCached:"] - values["AnonPages:"] - onProcessors(t)
}

// charged is how much of that cgroups are charged for: those of the sandboxes, and of all else on the machine, which does
// something meanwhile.
func charged(t *testing.T) (sum int64) {
	t.Helper()
	v1, _ := filepath.Glob("/sys/fs/cgroup/memory/*/memory.kmem.usage_in_bytes")
	for _, path := range v1 {
		sum += number(t, path, "")
	}
	if len(v1) > 0 {
		return sum
	}
	v2, _ := filepath.Glob("/sys/fs/cgroup/*/memory.stat")
	if len(v2) == 0 {
		t.Fatal("there are no cgroups of memory")
	}
	for _, path := range v2 {
		sum += number(t, path, "kernel ") + number(t, path, "sock ")
	}
	return sum
}

// number reads the number of a control file, or of the line in it that begins with key.
func number(t *testing.T, path, key string) int64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return 0 // a cgroup that has just ended
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s has no %q", path, key)
	return 0
}

// TestHoards fills kinds that the kernel charges to no cgroup by itself, and compares the host's loss with the charge.
func TestHoards(t *testing.T) {
	testutil.NeedsSandboxes(t)
	fillAll(t, 1, func(h hoard) bool { return h.smoke })
}

// fillAll fills each chosen hoard in as many sandboxes at once.
func fillAll(t *testing.T, sandboxes int, chosen func(hoard) bool) {
	t.Helper()
	a := newArena(t)
	for _, name := range slices.Sorted(maps.Keys(hoards())) {
		h := hoards()[name]
		if !chosen(h) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			list := make([]string, sandboxes)
			for i := range list {
				list[i] = a.create(t, func(s *yurt.SandboxSpec) { s.Template.Isolation.SystemCalls = nil })
			}
			most := uncharged * int64(len(list))
			lost := a.fill(t, h, list, most)
			t.Logf("%.1f MiB are charged to no cgroup", float64(lost)/(1<<20))
			if lost > most {
				t.Errorf("%d sandboxes took %d MiB of the host that their cgroups are not charged for, want at most %d", len(list), lost>>20, most>>20)
			}
			for _, id := range list {
				a.worksWithin(t, "the sandbox", id, 15*time.Second) // its memory can be full of objects that outlive their processes
				if err := a.DestroySandbox(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// harmless are the calls that leave no object in the kernel, or change one that another call has made.
func harmless() []string {
	return strings.Fields(`
		chdir chmod chown close close_range copy_file_range dup dup2 dup3 fadvise64 fallocate fchdir fchmod fchmodat fchown fchownat fdatasync
		fgetxattr flistxattr fremovexattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr lchown lgetxattr listxattr
		llistxattr lremovexattr lseek name_to_handle_at pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat
		readv removexattr rename renameat renameat2 rmdir sendfile statfs sync sync_file_range syncfs truncate umask unlink unlinkat utime
		utimensat utimes write writev epoll_pwait epoll_pwait2 epoll_wait inotify_rm_watch poll ppoll pselect6 select timerfd_gettime
		timerfd_settime membarrier mincore msync munlock munlockall pkey_free arch_prctl exit exit_group futex futex_waitv get_robust_list
		get_thread_area getpgid getpgrp getpid getppid getsid gettid process_mrelease ptrace restart_syscall set_thread_area set_tid_address
		setpgid setsid wait4 waitid personality getrlimit prlimit64 setrlimit capget capset getegid geteuid getgid getgroups getresgid
		getresuid getuid setfsgid setfsuid setgid setgroups setregid setresgid setresuid setreuid setuid sysinfo uname pause rt_sigaction
		rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sigaltstack clock_getres clock_gettime clock_nanosleep
		getitimer gettimeofday nanosleep time timer_delete timer_getoverrun timer_gettime times getcpu getpriority getrandom getrusage
		ioprio_get ioprio_set sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
		sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield setpriority
		mq_getsetattr mq_timedreceive mq_unlink msgctl msgrcv semctl shmctl shmdt getpeername getsockname getsockopt recvfrom`)
}
