package nomad

import (
	"archive/tar"
	"fmt"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// image runs a job of a container image: with the image's command, user and directory; and the
// downloading is among the task's events.
func (n *node) image(t *testing.T) {
	layer := testutil.HostLayer(t, []string{"/bin/sh", "/bin/cat", "/usr/bin/id", "/usr/bin/pwd"})
	files := testutil.Tar(t, []tar.Header{
		{Typeflag: tar.TypeReg, Name: "app/say", Mode: 0o755}, {Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644},
	}, map[string]string{
		"app/say":    "#!/bin/sh\necho \"$WORD $JOB from $(pwd) as $(id -u): $*\"\n",
		"etc/passwd": "root:x:0:0::/:/bin/sh\napp:x:70:70::/home/app:/bin/sh\n",
	})
	reference, digest := n.images.Push(t, "app:1", testutil.ImageConfig{
		Env: []string{"WORD=image", "JOB=image", "PATH=/app:/usr/bin:/bin"}, Entrypoint: []string{"./say"}, Command: []string{"its", "own"}, WorkingDir: "/app", User: "app",
	}, layer, files)
	foreign, _ := n.images.Push(t, "foreign:1", testutil.ImageConfig{Architecture: "s390x"}, files)
	// The first of them has the image downloaded.
	for _, test := range []struct{ name, config, prints string }{
		{"own", fmt.Sprintf("image = %q", reference), "image job from /app as 70: its own\n"},
		{"args", fmt.Sprintf("image = %q\nargs = [\"other\"]", strings.TrimSuffix(reference, ":1")+"@"+digest), "image job from /app as 70: other\n"},
		{"mounts", fmt.Sprintf("image = %q\nentrypoint = [\"sh\", \"-c\"]\ncwd = \"/local\"\nargs = [\"pwd; cat /secrets/none || echo none; echo x > /alloc/data/image\"]", reference), "/local\nnone\n"},
		{"variables", fmt.Sprintf("image = %q\nentrypoint = [\"sh\", \"-c\"]\nargs = [\"echo $PATH $HOME $USER; say by its path\"]", reference), "/app:/usr/bin:/bin /home/app app\nimage job from /app as 70: by its path\n"},
		{"template", fmt.Sprintf("image = %q\nentrypoint = [\"sh\", \"-c\"]\nargs = [\"echo $PATH $HOME $OF\"]\ntemplate = \"template \\\"own\\\" {\\n extends = \\\"shell-basic\\\"\\n env = { HOME = \\\"/own\\\", OF = \\\"template\\\" }\\n}\\n\"", reference), "/app:/usr/bin:/bin /own template\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := "image-" + test.name
			n.job(t, imageJob(id, test.config))
			if out := n.completes(t, id, "t"); out != test.prints {
				t.Errorf("it printed %q, want %q", out, test.prints)
			}
			if said := cluster.Describe(n.WaitDone(t, id)); test.name == "own" && !strings.Contains(said, "Downloading image "+reference) {
				t.Errorf("no event says that it is downloaded:%s", said)
			}
		})
	}
	for name, test := range map[string]struct{ image, says string }{
		"none":     {n.images.Host + "/none:1", "image: image " + n.images.Host + "/none:1"},
		"platform": {foreign, "it is for linux/s390x, and this node is linux/"},
		"digest":   {n.images.Host + "/app@sha256:" + strings.Repeat("0", 64), "image: image " + n.images.Host + "/app@sha256:000"},
	} {
		t.Run(name, func(t *testing.T) {
			id := "image-" + name
			n.job(t, imageJob(id, fmt.Sprintf("image = %q", test.image)))
			if said := cluster.Describe(n.WaitDone(t, id)); !strings.Contains(said, test.says) {
				t.Errorf("nothing says %q:%s", test.says, said)
			}
		})
	}
}

func imageJob(id, config string) string {
	return fmt.Sprintf(`job %q {
  type = "batch"
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "yurt"
      config {
        %s
      }
      env {
        JOB = "job"
      }
      resources {
        cpu    = 20
        memory = 64
      }
    }
  }
}`, id, config)
}
