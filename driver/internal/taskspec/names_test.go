package taskspec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/drivertest"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
)

// TestNames: a task whose group has a network of its own has the job's dns.
func TestNames(t *testing.T) {
	task := drivertest.Allocated(t, drivertest.Task(t, `{"command":"a"}`))
	task.Dns = &drivers.DNSConfig{Servers: []string{"10.0.0.53", "fd00::53"}, Searches: []string{"a.example", "b.example"}, Options: []string{"ndots:2"}}
	task.NetworkIsolationSpec = groupNetwork()
	p, err := translate(pluginconfig.Config{}, task)
	if err != nil {
		t.Fatal(err)
	}
	// A file in the way may come with an artifact, say.
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(taskDir(task), "resolv.conf")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a task may start again
		if err := p.WriteNames(task); err != nil {
			t.Fatal(err)
		}
	}
	mount := yurt.Mount{Base: taskDir(task), Source: "resolv.conf", Target: resolvConf, ReadOnly: true}
	if !slices.Contains(p.Sandbox.Host.Mounts, mount) {
		t.Errorf("%+v is not among the mounts %+v", mount, p.Sandbox.Host.Mounts)
	}
	want := "nameserver 10.0.0.53\nnameserver fd00::53\nsearch a.example b.example\noptions ndots:2\n"
	if got, err := os.ReadFile(filepath.Join(taskDir(task), "resolv.conf")); err != nil || string(got) != want {
		t.Errorf("resolv.conf is %q, %v, want %q", got, err, want)
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "untouched" {
		t.Errorf("a link was followed: %q, %v", got, err)
	}
}

// TestNamesOfTheJob: a file that the job mounts by itself stays, and without a network the driver
// writes no names.
func TestNamesOfTheJob(t *testing.T) {
	task := drivertest.Task(t, `{"command":"a","mounts":[{"source":"local/own.conf","target":"/etc/resolv.conf","read_only":true}]}`)
	task.Dns = &drivers.DNSConfig{Servers: []string{"10.0.0.53"}}
	task.NetworkIsolationSpec = groupNetwork()
	p, err := translate(pluginconfig.Config{}, task)
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, m := range p.Sandbox.Host.Mounts {
		if m.Target == resolvConf {
			sources = append(sources, m.Source)
		}
	}
	if !slices.Equal(sources, []string{"local/own.conf"}) {
		t.Errorf("resolv.conf is %q", sources)
	}
	task = drivertest.Task(t, `{"command":"a","network":"none"}`)
	task.NetworkIsolationSpec = groupNetwork()
	p, err = translate(pluginconfig.Config{}, task)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(p.Sandbox.Host.Mounts, func(m yurt.Mount) bool { return m.Target == resolvConf }) {
		t.Errorf("without a network it has %+v", p.Sandbox.Host.Mounts)
	}
}

// TestHostnames: a task has a name of its own, which it can resolve, unless it is in the node's network.
func TestHostnames(t *testing.T) {
	node, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	given := groupNetwork()
	given.HostsConfig = &drivers.HostsConfig{Hostname: "of-the-group", Address: "172.26.64.9"}
	for _, test := range []struct {
		name, config, task string
		network            *drivers.NetworkIsolationSpec
		want, line         string
	}{
		{"its own", `{"command":"a"}`, "web", nil, "web-0f9ff0ab", "\n127.0.1.1 web-0f9ff0ab\n"},
		{"of an odd name", `{"command":"a"}`, "a_b.ü" + strings.Repeat("x", 60), nil, "a-b--" + strings.Repeat("x", 45) + "-0f9ff0ab", "-0f9ff0ab\n"},
		{"of the job", `{"command":"a","hostname":"db.example"}`, "web", given, "db.example", "\n172.26.64.9 db.example\n"},
		{"of the group", `{"command":"a"}`, "web", given, "of-the-group", "\n172.26.64.9 of-the-group\n"},
		{"the group has none", `{"command":"a"}`, "web", groupNetwork(), "web-0f9ff0ab", "\n127.0.1.1 web-0f9ff0ab\n"},
		{"of the node", `{"command":"a","network":"host"}`, "web", nil, node, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			task := drivertest.Task(t, test.config)
			task.Name, task.NetworkIsolationSpec = test.task, test.network
			p, err := translate(pluginconfig.Config{HostNetwork: true}, task)
			if err != nil || p.Sandbox.Host.Hostname != test.want {
				t.Fatalf("it is %q, %v; want %q", p.Sandbox.Host.Hostname, err, test.want)
			}
			i := slices.IndexFunc(p.names, func(f nameFile) bool { return f.target == hostsFile })
			if i < 0 || !strings.Contains(p.names[i].text, test.line) || !strings.Contains(p.names[i].text, "localhost") {
				t.Errorf("its hosts are %+v, want %q", p.names, test.line)
			}
		})
	}
	for _, name := range []string{"-a", "a_b", "a..b", "ü", strings.Repeat("a", 65)} {
		if _, err := translate(pluginconfig.Config{}, drivertest.Task(t, fmt.Sprintf(`{"command":"a","hostname":%q}`, name))); !yurt.IsField(err, "hostname") {
			t.Errorf("%q gives %v", name, err)
		}
	}
}

// TestUsersOfTheNode: the node's users are known by name, but root is refused under every name.
func TestUsersOfTheNode(t *testing.T) {
	u, err := userOf("daemon")
	if err != nil || u == nil || u.UID == 0 {
		t.Errorf("daemon is %+v, %v", u, err)
	}
	for _, name := range []string{"root", "0", "root:1000"} {
		if u, err := userOf(name); err == nil {
			t.Errorf("%q is %+v", name, u)
		}
	}
}

// groupNetwork is the network that Nomad makes for a group in bridge mode.
func groupNetwork() *drivers.NetworkIsolationSpec {
	return &drivers.NetworkIsolationSpec{Mode: drivers.NetworkIsolationSpec_GROUP, Path: "/var/run/netns/group"}
}
