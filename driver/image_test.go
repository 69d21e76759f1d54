package driver

import (
	"slices"
	"strings"
	"testing"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
)

// What runs is what Docker would run: entry point, then what the task says or else the
// image's command.
func TestImageSaysWhatRuns(t *testing.T) {
	t.Parallel()
	both := yurt.ImageInfo{Reference: "r@sha256:0", Entrypoint: []string{"/entry", "-e"}, Command: []string{"cmd", "-c"}, WorkingDir: "srv", RunAs: &yurt.User{UID: 7, GID: 8}}
	for _, test := range []struct {
		name, config, user, want, cwd string
		image                         yurt.ImageInfo
		runAs                         *yurt.User
	}{
		{"the image", `{"image":"r"}`, "", "/entry -e cmd -c", "/srv", both, both.RunAs},
		{"command", `{"image":"r","command":"a","args":["b"]}`, "", "/entry -e a b", "/srv", both, both.RunAs},
		{"args", `{"image":"r","args":["b"]}`, "", "/entry -e b", "/srv", both, both.RunAs},
		{"entry point", `{"image":"r","entrypoint":["x"],"cwd":"/tmp"}`, "", "x", "/tmp", both, both.RunAs},
		{"all", `{"image":"r","entrypoint":["x"],"command":"a","args":["b"]}`, "1234", "x a b", "/srv", both, &yurt.User{UID: 1234, GID: 1234}},
		{"nothing", `{"image":"r"}`, "", "", "", yurt.ImageInfo{Reference: "r@sha256:0"}, nil},
		{"code", `{"image":"r","code":"1","language":"python"}`, "", "", "", both, both.RunAs},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := testDriver(Config{StateDir: t.TempDir(), Images: true})
			defer d.close()
			task := taskOf(t, test.config)
			task.User = test.user
			p, err := d.plan(task)
			if err != nil {
				t.Fatal(err)
			}
			err = p.complete(test.image, test.user)
			if test.name == "nothing" {
				if !isField(err, "command") {
					t.Errorf("nothing to run is %v", err)
				}
				return
			}
			e := p.execution
			if err != nil || strings.Join(e.Command, " ") != test.want || e.Cwd != test.cwd || p.sandbox.Template.RootFS.Image != "r@sha256:0" {
				t.Errorf("it runs %q in %q of %+v, %v", e.Command, e.Cwd, p.sandbox.Template.RootFS, err)
			}
			if e.User == nil || *e.User != *test.runAs {
				t.Errorf("it runs as %v, want %v", e.User, test.runAs)
			}
		})
	}
}

func TestImageArgs(t *testing.T) {
	t.Parallel()
	for config, want := range map[string][]string{
		`{}`:                                    nil,
		`{"images":true}`:                       {"--image-registries=*"},
		`{"images":true,"image_registries":[]}`: {"--image-registries="},
		`{"images":true,"image_registries":["docker.io","a:5000"],"image_layouts":["/srv/a"],"image_auth":"/etc/x"}`: {"--image-registries=docker.io,a:5000", "--image-layouts=/srv/a", "--image-auth=/etc/x"},
	} {
		c, err := readConfig(packed(t, config))
		if err != nil || !slices.Equal(c.imageArgs(), want) {
			t.Errorf("%s is %q, %v; want %q", config, c.imageArgs(), err, want)
		}
	}
}

// TestEvents has events reach all who watch, and none wait for who does not read.
func TestEvents(t *testing.T) {
	t.Parallel()
	var e events
	task := &drivers.TaskConfig{Id: "a/b/c", AllocId: "a", Name: "b"}
	e.say(task, "to nobody")
	first, stop := e.watch()
	second, stopSecond := e.watch()
	defer stopSecond()
	e.say(task, "to both")
	stop()
	for range 2 * maxEvents {
		e.say(task, "to the second")
	}
	if event := <-first; event.GetMessage() != "to both" || event.GetTaskId() != "a/b/c" || event.GetAllocId() != "a" || event.GetTaskName() != "b" {
		t.Errorf("it says %v", event)
	}
	if len(first) != 0 || len(second) != maxEvents {
		t.Errorf("waiting are %d and %d", len(first), len(second))
	}
}
