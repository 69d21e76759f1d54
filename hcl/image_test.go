package hcl

import (
	"maps"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func TestImage(t *testing.T) {
	t.Parallel()
	list, err := (&Parser{}).Parse(Source{Name: "x.hcl", Text: []byte(`
template "host" {
  env = {
    PATH = "/of/the/host"
    HOME = "/home"
    USER = "host"
    WORD = "kept"
  }
  rootfs {
    host {
      paths = ["/usr"]
    }
  }
}
template "image" {
  extends = "host"
  env = {
    HOME = "/own"
  }
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
	if env := list[1].Env; list[1].Name != "image" || !maps.Equal(env, map[string]string{"HOME": "/own", "WORD": "kept"}) {
		t.Errorf("variables of %s, in place of those of the host's files: %v", list[1].Name, env)
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
