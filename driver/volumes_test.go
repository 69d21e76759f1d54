package driver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/drivertest"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
)

// TestClosedVolumes names the volumes that a task's user cannot write to, and no others.
func TestClosedVolumes(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil { // whose mode does not count
		t.Fatal(err)
	}
	volume := func(name string, mode os.FileMode, owner int) *drivers.Mount {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return &drivers.Mount{HostPath: path, TaskPath: "/" + name}
	}
	task := drivertest.Task(t, `{"command":"a"}`)
	read := volume("read", 0o755, 0)
	read.Readonly = true
	task.Mounts = []*drivers.Mount{
		volume("root", 0o755, 0), volume("open", 0o777, 0), volume("own", 0o700, 1000), volume("other", 0o770, 70), volume("group", 0o775, 1000), read,
	}
	p, err := testDriver(pluginconfig.Config{}).translate(task)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		user *yurt.User
		want []string
	}{
		{nil, []string{"/root: on the node " + filepath.Join(dir, "root") + " belongs to 0:0 with mode 0755", "/other:"}},
		{&yurt.User{UID: 70, GID: 70}, []string{"/root:", "/own:", "/group:"}},
		{&yurt.User{UID: 70, GID: 1000}, []string{"/root:", "/own:"}},
	} {
		got := closedVolumes(task, p.Sandbox.Host, test.user)
		if len(got) != len(test.want) {
			t.Errorf("%+v is told %q", test.user, got)
			continue
		}
		for i, want := range test.want {
			if !strings.HasPrefix(got[i], "the task cannot write to "+want) {
				t.Errorf("%+v is told %q, want %q", test.user, got[i], want)
			}
		}
	}
}
