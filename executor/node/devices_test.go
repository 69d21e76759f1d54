package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// A device of the node appears at the requested path, for its granted uses only, and no other sandbox has it.
func TestDevices(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	disk, behind := testutil.LoopDevice(t, "of the disk\n")
	fixed, _ := testutil.LoopDevice(t, "of another\n")
	link := filepath.Join(t.TempDir(), "link") // as udev makes them
	if err := os.Symlink(fixed, link); err != nil {
		t.Fatal(err)
	}
	before := testutil.Create(t, e)
	s := testutil.Create(t, e, withHost(yurt.HostAccess{Devices: []yurt.Device{
		{Source: disk, Target: "/dev/test/disk", Access: yurt.DeviceReadWrite},
		{Source: link, Target: "/dev/fixed", Access: yurt.DeviceRead},
		{Source: "/dev/zero", Target: "/dev/test/nothing", Access: yurt.DeviceRead},
	}}))
	r := testutil.Run(t, e, s.ID, `head -n1 /dev/test/disk; head -n1 /dev/fixed; head -c4 /dev/test/nothing | tr '\0' 0; stat -c ' %F %a' /dev/test/disk /dev/fixed; printf 'from inside\n' | dd of=/dev/test/disk conv=notrunc,fsync status=none`)
	if want := "of the disk\nof another\n0000 block special file 666\n block special file 444\n"; r.Stdout != want || r.ExitCode != 0 {
		t.Fatalf("inside: %q %q %+v, want %q", r.Stdout, r.Stderr, r.Error, want)
	}
	if data, err := os.ReadFile(behind); err != nil || !bytes.HasPrefix(data, []byte("from inside\n")) {
		t.Errorf("the device holds %.20q, %v", data, err)
	}
	for _, line := range []string{
		"echo x > /dev/fixed", "chmod 666 /dev/fixed", "mknod /workspace/disk b 7 0", "ln /dev/test/disk /workspace/disk", "rm /dev/test/disk", "touch /dev/new",
	} {
		if r := testutil.Run(t, e, s.ID, line); r.ExitCode == 0 {
			t.Errorf("%s was possible", line)
		}
	}
	for name, other := range map[string]string{"before": before.ID, "after": testutil.Create(t, e).ID} {
		if r := testutil.Run(t, e, other, "cd /dev && find . -type b -o -name test -o -name fixed"); r.Stdout != "" || r.ExitCode != 0 {
			t.Errorf("a sandbox made %s has %q, %q", name, r.Stdout, r.Stderr)
		}
	}
}

// The rules of the cgroup themselves limit a sandbox's devices: a sandbox with a device has one rule more, and another
// sandbox beside it has the usual rules.
func TestDeviceRules(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e := testutil.Start(t, config)
	disk, _ := testutil.LoopDevice(t, "")
	lists := func(id string) []string {
		paths, err := filepath.Glob("/sys/fs/cgroup/devices/*/" + id + "/devices.list")
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	rules := func(id string) string {
		paths := lists(id)
		if len(paths) != 1 {
			t.Fatalf("sandbox %s has the cgroups %q", id, paths)
		}
		data, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	plain := testutil.Create(t, e)
	if len(lists(plain.ID)) == 0 { // cgroup v2, where they are a program
		return
	}
	with := testutil.Create(t, e, withHost(yurt.HostAccess{Devices: []yurt.Device{{Source: disk, Target: "/dev/disk", Access: yurt.DeviceRead}}}))
	later := testutil.Create(t, e)
	usual := rules(plain.ID)
	if got, want := rules(with.ID), usual+fmt.Sprintf("b 7:%s r\n", strings.TrimPrefix(disk, "/dev/loop")); got != want {
		t.Errorf("its rules are %q, want %q", got, want)
	}
	if rules(later.ID) != usual || strings.Contains(usual, "b ") || len(strings.Fields(usual)) != 3*8 {
		t.Errorf("the rules of others are %q, and were %q", rules(later.ID), usual)
	}
}

func TestDevicesThatAreRefused(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ok := yurt.Device{Source: "/dev/zero", Target: "/dev/x", Access: yurt.DeviceRead}
	for name, test := range map[string]struct {
		change func(*yurt.Device)
		says   string
	}{
		"a file":           {func(d *yurt.Device) { d.Source = file }, "is no device"},
		"a directory":      {func(d *yurt.Device) { d.Source = "/dev" }, "is no device"},
		"nothing":          {func(d *yurt.Device) { d.Source = "/dev/no-such-device" }, "no such file"},
		"a relative path":  {func(d *yurt.Device) { d.Source = "dev/zero" }, "absolute"},
		"outside of /dev":  {func(d *yurt.Device) { d.Target = "/etc/x" }, "below /dev"},
		"out of /dev":      {func(d *yurt.Device) { d.Target = "/dev/../etc/x" }, "below /dev"},
		"/dev itself":      {func(d *yurt.Device) { d.Target = "/dev" }, "below /dev"},
		"what is there":    {func(d *yurt.Device) { d.Target = "/dev/null" }, "of its own"},
		"below a terminal": {func(d *yurt.Device) { d.Target = "/dev/pts/7" }, "of its own"},
		"to make nodes":    {func(d *yurt.Device) { d.Access = "rwm" }, "access"},
		"no access":        {func(d *yurt.Device) { d.Access = "" }, "access"},
	} {
		t.Run(name, func(t *testing.T) {
			d := ok
			test.change(&d)
			checkRefused(t, e, []yurt.Device{d}, test.says)
		})
	}
	checkRefused(t, e, []yurt.Device{ok, {Source: "/dev/zero", Target: "/dev/x/y", Access: yurt.DeviceRead}}, "in each other's way")
	checkRefused(t, e, make([]yurt.Device, yurt.MaxDevices+1), "at most")
}

func checkRefused(t *testing.T, e *executor.Executor, devices []yurt.Device, says string) {
	t.Helper()
	spec := testutil.Spec()
	spec.Host = &yurt.HostAccess{Devices: devices}
	_, err := e.CreateSandbox(t.Context(), spec)
	if failure := new(yurt.Error); !errors.As(err, &failure) || failure.Field != "host.devices" || !strings.Contains(failure.Message, says) {
		t.Errorf("got %v, want that it says %q of host.devices", err, says)
	}
}
