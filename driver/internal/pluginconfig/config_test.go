package pluginconfig

import (
	"slices"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/drivertest"
)

func TestBadConfigs(t *testing.T) {
	for _, test := range []struct{ config, field string }{
		{`{"state_dir":"relative"}`, "state_dir"},
		{`{"executor":"yurt"}`, "executor"},
		{`{"template_dir":"t"}`, "template_dir"},
		{`{"host_mounts":["/srv/../etc"]}`, "host_mounts"},
		{`{"isolation":"gvisor"}`, "isolation"},
		{`{"image_registries":["docker.io"]}`, "image_registries"},
		{`{"image_layouts":["/srv"]}`, "image_layouts"},
		{`{"image_auth":"/etc/auth.json"}`, "image_auth"},
		{`{"images":true,"settings":{"image-registries":"*"}}`, "settings"},
		{`{"settings":{"--max-queue":"1"}}`, "settings"},
		{`{"settings":{"listen":"x"}}`, "settings"},
		{`{"nomad_address":"127.0.0.1:4646"}`, "nomad_address"},
		{`{"nomad_token_file":"/etc/x"}`, "nomad_address"},
		{`{"nomad_address":"ftp://x"}`, "nomad_address"},
	} {
		if _, err := Read(drivertest.Packed(t, test.config)); !yurt.IsField(err, test.field) {
			t.Errorf("%s: got %v, want an error about %s", test.config, err, test.field)
		}
	}
	config, err := Read(nil)
	if err != nil || config.StateDir != DefaultStateDir {
		t.Errorf("nothing configured is %+v, %v", config, err)
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
		c, err := Read(drivertest.Packed(t, config))
		if err != nil || !slices.Equal(c.imageArgs(), want) {
			t.Errorf("%s is %q, %v; want %q", config, c.imageArgs(), err, want)
		}
	}
}
