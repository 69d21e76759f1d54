package driver

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
)

// TestImageSaysWhatRuns has the same program run as Docker would: the entry point, then the task's
// command or else the image's.
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

// TestImageEnv has the variables of an image's root file system in place of the template's, and
// the job's own above both.
func TestImageEnv(t *testing.T) {
	t.Parallel()
	image := yurt.ImageInfo{Reference: "r@sha256:0", Command: []string{"c"}, RunAs: &yurt.User{UID: 7, GID: 8}, Name: "app", Home: "/home/app"}
	const own = "template \"own\" {\n extends = \"shell-basic\"\n env = { HOME = \"/own\", WORD = \"x\" }\n}\n"
	for _, test := range []struct {
		name, template, user string
		job, image           map[string]string
		sandbox, of          map[string]string // of the sandbox, and of its template
	}{
		{"the default", "", "", nil, nil, map[string]string{"USER": "app", "HOME": "/home/app"}, map[string]string{"LANG": "C.UTF-8"}},
		{"a user of the job's", "", "9", nil, nil, map[string]string{}, map[string]string{"LANG": "C.UTF-8"}},
		{"a name", "shell-basic", "", map[string]string{"HOME": "/job"}, nil, map[string]string{"USER": "app", "HOME": "/job"}, map[string]string{"LANG": "C.UTF-8"}},
		{"a text", own, "", nil, map[string]string{"USER": "image"}, map[string]string{}, map[string]string{"LANG": "C.UTF-8", "HOME": "/own", "WORD": "x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := testDriver(Config{Images: true})
			text, err := json.Marshal(map[string]string{"image": "r", "template": test.template})
			if err != nil {
				t.Fatal(err)
			}
			task := taskOf(t, string(text))
			task.User, task.Env = test.user, test.job
			p, err := d.plan(task)
			if err != nil {
				t.Fatal(err)
			}
			info := image
			info.Env = test.image
			if err := p.complete(info, test.user); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(p.sandbox.Env, test.sandbox) || !maps.Equal(p.sandbox.Template.Env, test.of) {
				t.Errorf("the sandbox has %v over %v, want %v over %v", p.sandbox.Env, p.sandbox.Template.Env, test.sandbox, test.of)
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

// TestEvents has events reach all watchers, and no watcher wait for one that does not read.
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
