package nomad

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestDevice has a task use a device of a device plugin of Nomad's: the device, with the
// permissions that it comes with, and the mount and the variable that belong to it.
func TestDevice(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	disk, behind := testutil.LoopDevice(t, "of the disk\n")
	dir := volume(t)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("of the plugin\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	driver := cluster.BuildDriver(t)
	plugins := pluginDir(t, driver)
	n := &node{NomadCluster: cluster.Nomad(t, cluster.Options{PluginDir: plugins, ClientConfig: driver.Config("") + fmt.Sprintf(`
plugin "deviceplugin" {
  args = [%q, %q]
}
`, disk, dir)})}
	if err := n.Clients[0].WaitDriver(t.Context(), "yurt"); err != nil {
		t.Fatal(err)
	}
	n.job(t, strings.Replace(task("device", "batch", `head -n1 /dev/test/disk; cat /device/file; echo $TEST_DEVICE; echo x > /dev/test/fixed || echo refused
printf 'of the task\n' | dd of=/dev/test/disk conv=notrunc,fsync status=none`, ""), "memory = 64\n", "memory = 64\n        device \"test/disk\" {\n        }\n", 1))
	if out := n.completes(t, "device", "t"); out != "of the disk\nof the plugin\ndisk-1\nrefused\n" {
		t.Errorf("it printed %q", out)
	}
	if data, err := os.ReadFile(behind); err != nil || !bytes.HasPrefix(data, []byte("of the task\n")) {
		t.Errorf("the device holds %.20q, %v", data, err)
	}
	n.job(t, task("none", "batch", "ls /dev/test || echo none", ""))
	if out := n.completes(t, "none", "t"); out != "none\n" {
		t.Errorf("without a device block it printed %q", out)
	}
}

// pluginDir is a directory with the driver and the device plugin.
func pluginDir(t *testing.T, driver cluster.Driver) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(driver.PluginDir, cluster.DriverPlugin), filepath.Join(dir, cluster.DriverPlugin)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "deviceplugin"), "./test/nomad/deviceplugin")
	cmd.Dir = testutil.Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the device plugin: %v\n%s", err, out)
	}
	return dir
}
