package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Size of the machine.
const (
	cpus   = "2"
	memory = "2560M"
)

// machine is a virtual machine that is described and not started yet.
type machine struct {
	kernel  kernel
	initrd  string // file
	work    string // directory that the guest sees at /run/vm, read-only
	console string // file that the kernel's messages go to
}

// verdict is what the guest says last, before the tests' exit status.
const verdict = "guest: tests exited with "

// run starts the machine and waits until it is off. It passes each line that the
// tests print to line, and returns their exit status.
func (m machine) run(ctx context.Context, line func(string)) (int, error) {
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", m.args()...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	cmd.WaitDelay = 5 * time.Second
	reports, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting the virtual machine (Debian: apt-get install qemu-system-x86): %w", err)
	}
	status, err := readReports(reports, line)
	if ended := cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("the virtual machine: %w\n%s", ended, complaints.String()))
	}
	return status, err
}

func readReports(reports io.Reader, each func(string)) (int, error) {
	status, err := 0, errors.New("the virtual machine went off before the tests had ended")
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

func (m machine) args() []string {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-smp", cpus, "-m", memory,
		"-kernel", m.kernel.image(), "-initrd", m.initrd,
		// cgroup_no_v1 says it twice, like a distribution that means it. The rest is
		// for speed.
		"-append", "console=ttyS0 panic=-1 loglevel=4 cgroup_no_v1=all systemd.unified_cgroup_hierarchy=1" +
			" mitigations=off nokaslr random.trust_cpu=on tsc=reliable no_timer_check",
		"-serial", "file:" + m.console, "-serial", "stdio",
	}
	args = append(args, share("root", "/")...)
	args = append(args, share("work", m.work)...)
	return append(args, accelerator()...)
}

func share(tag, path string) []string {
	return []string{
		"-fsdev", "local,id=" + tag + ",path=" + path + ",security_model=none,readonly=on,multidevs=remap",
		"-device", "virtio-9p-pci,fsdev=" + tag + ",mount_tag=" + tag,
	}
}

// accelerator is KVM on a processor that has virtualization, and emulation
// elsewhere: a /dev/kvm may be there all the same, and run nothing but kernels that
// were made for it.
func accelerator() []string {
	processor, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		flags := strings.Fields(string(processor))
		file, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
		if err == nil {
			file.Close()
			for _, flag := range flags {
				if flag == "vmx" || flag == "svm" {
					return []string{"-accel", "kvm", "-cpu", "host"}
				}
			}
		}
	}
	return []string{"-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max"}
}
