package hcl

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func TestImage(t *testing.T) {
	t.Parallel()
	list, err := (&Parser{}).Parse(Source{Name: "x.hcl", Text: []byte(`
template "host" {
  rootfs {
    host {
      paths = ["/usr"]
    }
  }
}
template "image" {
  extends = "host"
  rootfs {
    image = "debian:13"
  }
}
template "again" {
  extends = "image"
  rootfs {
    image = ""
  }
}
`)})
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	found := map[string]yurt.RootFS{}
	for _, one := range list {
		found[one.Name] = one.RootFS
	}
	if r := found["image"]; r.Image != "debian:13" || len(r.HostPaths) != 0 {
		t.Errorf("in place of the host's files: %+v", r)
	}
	if r := found["again"]; r.Image != "" || len(r.HostPaths) != len(yurt.DefaultHostPaths()) {
		t.Errorf("the host's files again: %+v", r)
	}
	for body, says := range map[string]string{
		"image = \"debian:13\"\n host {\n paths = [\"/usr\"]\n}": "leave one of them out",
		"image = \"two words\"":                                  "no reference",
		"image = \"" + strings.Repeat("a", 513) + "\"":           "at most 512",
		"image = 1 + \"x\"":                                      "number",
	} {
		if e := parseError(t, "x.hcl", "template \"x\" {\n rootfs {\n "+body+"\n}\n}\n"); !strings.Contains(e.Error(), says) {
			t.Errorf("%s gives %v", body, e)
		}
	}
}
