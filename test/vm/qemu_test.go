package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// machine is a virtual machine that is described and not started yet.
type machine struct {
	kernel      kernel
	accelerator accelerator
	initrd      string // file
	work        string // directory that the guest sees at /run/vm, read-only
	console     string // file that the kernel's messages go to
	boot        string // parameters of the kernel's, beside those of every machine
}

// Size of the machine.
const (
	cpus   = "2"
	memory = "2560M"
)

// verdict is the guest's last line, before the tests' exit status.
const verdict = "guest: tests exited with "

// run starts the machine and waits until it is off. It passes each line that the
// tests print to line, and returns their exit status.
func (m machine) run(ctx context.Context, line func(string)) (int, error) {
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", m.args()...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	cmd.WaitDelay = 5 * time.Second
	// It ends with this thread, should the test end in a way that cannot end it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	reports, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting QEMU, which this test needs (Debian: apt-get install qemu-system-x86): %w", err)
	}
	status, err := readReports(reports, line)
	if ended := cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("the virtual machine: %w\n%s", ended, complaints.String()))
	}
	return status, err
}

func readReports(reports io.Reader, each func(string)) (int, error) {
	status, err := 0, errors.New("the machine went off before the tests had ended")
	lines := bufio.NewScanner(reports)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := strings.TrimRight(lines.Text(), "\r")
		if number, ok := strings.CutPrefix(text, verdict); ok {
			_, err = fmt.Sscan(number, &status)
			continue
		}
		each(text)
	}
	return status, errors.Join(err, lines.Err())
}

// messages are the kernel's, and the guest's own complaints.
func (m machine) messages() string {
	data, err := os.ReadFile(m.console)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (m machine) args() []string {
	return slices.Concat([]string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-smp", cpus, "-m", memory,
		"-kernel", m.kernel.image(), "-initrd", m.initrd,
		// The first options are those of distributions with cgroup v2; the others make the boot
		// fast.
		"-append", "console=ttyS0 panic=-1 loglevel=4 cgroup_no_v1=all systemd.unified_cgroup_hierarchy=1" +
			" mitigations=off nokaslr random.trust_cpu=on tsc=reliable no_timer_check " + m.boot,
		"-serial", "file:" + m.console, "-serial", "stdio",
	}, share("root", "/"), share("work", m.work), m.accelerator.args)
}

// share shows a directory of this machine to the guest, by 9p.
func share(tag, path string) []string {
	return []string{
		"-fsdev", "local,id=" + tag + ",path=" + path + ",security_model=none,readonly=on,multidevs=remap",
		"-device", "virtio-9p-pci,fsdev=" + tag + ",mount_tag=" + tag,
	}
}

// accelerator is how the machine's instructions are carried out.
type accelerator struct {
	name     string
	args     []string
	slowness string // how many times slower than this machine it may be, see testutil.Moment
}

// chooseAccelerator takes KVM on a processor that has virtualization, and emulation
// elsewhere: a /dev/kvm may be there all the same, and run no kernel but those that
// were made for it.
func chooseAccelerator() accelerator {
	emulated := accelerator{"emulated", []string{"-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max"}, "6"}
	processor, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return emulated
	}
	words := strings.Fields(string(processor))
	if !slices.Contains(words, "vmx") && !slices.Contains(words, "svm") {
		return emulated
	}
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return emulated
	}
	device.Close()
	return accelerator{"by KVM", []string{"-accel", "kvm", "-cpu", "host"}, "1"}
}
