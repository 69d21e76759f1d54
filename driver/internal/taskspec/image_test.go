package taskspec

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/drivertest"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
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
			task := drivertest.Task(t, test.config)
			task.User = test.user
			p, err := translate(pluginconfig.Config{Images: true}, task)
			if err != nil {
				t.Fatal(err)
			}
			err = p.Complete(test.image, test.user)
			if test.name == "nothing" {
				if !yurt.IsField(err, "command") {
					t.Errorf("nothing to run is %v", err)
				}
				return
			}
			e := p.Execution
			if err != nil || strings.Join(e.Command, " ") != test.want || e.Cwd != test.cwd || p.Sandbox.Template.RootFS.Image != "r@sha256:0" {
				t.Errorf("it runs %q in %q of %+v, %v", e.Command, e.Cwd, p.Sandbox.Template.RootFS, err)
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
			text, err := json.Marshal(map[string]string{"image": "r", "template": test.template})
			if err != nil {
				t.Fatal(err)
			}
			task := drivertest.Task(t, string(text))
			task.User, task.Env = test.user, test.job
			p, err := translate(pluginconfig.Config{Images: true}, task)
			if err != nil {
				t.Fatal(err)
			}
			info := image
			info.Env = test.image
			if err := p.Complete(info, test.user); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(p.Sandbox.Env, test.sandbox) || !maps.Equal(p.Sandbox.Template.Env, test.of) {
				t.Errorf("the sandbox has %v over %v, want %v over %v", p.Sandbox.Env, p.Sandbox.Template.Env, test.sandbox, test.of)
			}
		})
	}
}
