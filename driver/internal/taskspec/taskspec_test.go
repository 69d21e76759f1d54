package taskspec

import (
	"errors"
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
	"github.com/yurtrun/yurt/driver/internal/schema"
	"github.com/yurtrun/yurt/hcl"
)

// translate translates the task on a node whose operator has that plugin block.
func translate(operator pluginconfig.Config, task *drivers.TaskConfig) (Spec, error) {
	return Translate(task, operator, Templates{Shipped: hcl.Defaults, Dir: operator.TemplateDir})
}

// Each wrong task is refused with the setting's name, and its value or the allowed values.
func TestBadTasks(t *testing.T) {
	for _, test := range []struct {
		name, config string
		change       func(*drivers.TaskConfig)
		field, says  string
		code         yurt.Code
	}{
		{"nothing to run", `{}`, nil, "command", "give command, or code and language", yurt.CodeInvalidArgument},
		{"code and command", `{"command":"a","code":"b","language":"python"}`, nil, "code", "leave one of them out", yurt.CodeInvalidArgument},
		{"code of no language", `{"code":"b"}`, nil, "language", "python", yurt.CodeInvalidArgument},
		{"language of a command", `{"command":"a","language":"python"}`, nil, "language", "leave it out", yurt.CodeInvalidArgument},
		{"image", `{"command":"a","image":"alpine"}`, nil, "image", "give template", yurt.CodeForbidden},
		{"image of a slot", `{"slot":{},"image":"alpine","template":"shell-basic"}`, nil, "image", "slot", yurt.CodeInvalidArgument},
		{"isolation", `{"command":"a","isolation":"gvisor"}`, nil, "isolation", `"namespaces"`, yurt.CodeNotSupported},
		{"seccomp", `{"command":"a","seccomp":"unconfined"}`, nil, "seccomp", `"default"`, yurt.CodeNotSupported},
		{"network", `{"command":"a","network":"bridge"}`, nil, "network", `"none", "host" or "group"`, yurt.CodeInvalidArgument},
		{"host network", `{"command":"a","network":"host"}`, nil, "network", "host_network", yurt.CodeForbidden},
		{"template", `{"command":"a","template":"none-such"}`, nil, "template", "shell-basic", yurt.CodeTemplateNotFound},
		{"template", `{"command":"a","template":"shel-basic"}`, nil, "template", `did you mean "shell-basic"?`, yurt.CodeTemplateNotFound},
		{"inline template", `{"command":"a","template":"template \"x\" {\n  nonsense = 1\n}\n"}`, nil, "template", "nonsense", yurt.CodeTemplateInvalid},
		{"JSON template", `{"command":"a","template":"{\"name\":\"x\",\"nonsense\":1}"}`, nil, "template", "nonsense", yurt.CodeTemplateInvalid},
		{"language", `{"code":"a","language":"cobol"}`, nil, "template", "cobol-basic", yurt.CodeTemplateNotFound},
		{"pattern", `{"command":"a","env_passthrough":["["]}`, nil, "env_passthrough", "pattern", yurt.CodeInvalidArgument},
		{"ulimit", `{"command":"a","ulimits":{"core":"1"}}`, nil, "ulimits.core", "nofile", yurt.CodeInvalidArgument},
		{"ulimit's value", `{"command":"a","ulimits":{"nofile":"many"}}`, nil, "ulimits.nofile", "many", yurt.CodeInvalidArgument},
		{"memory", `{"command":"a","resources":{"cpu":null,"memory":"lots","disk":null,"pids":null}}`, nil, "resources.memory", "lots", yurt.CodeInvalidArgument},
		{"kind of disk", `{"command":"a","resources":{"cpu":null,"disk_kind":"tape"}}`, nil, "resources.disk_kind", "tape", yurt.CodeInvalidArgument},
		{"I/O weight", `{"command":"a","resources":{"cpu":null,"io_weight":1001}}`, nil, "resources.io_weight", "1001", yurt.CodeLimitOutOfRange},
		{"too little memory", `{"command":"a"}`, func(c *drivers.TaskConfig) { c.Resources.LinuxResources.MemoryLimitBytes = 1 << 20 }, "resources.memory", "", yurt.CodeLimitOutOfRange},
		{"log size", `{"command":"a","logs":{"max_files":null,"max_file_size":"1"}}`, nil, "logs.max_size", "give", yurt.CodeLimitOutOfRange},
		{"root", `{"command":"a"}`, func(c *drivers.TaskConfig) { c.User = "root" }, "user", "nothing runs as root", yurt.CodeForbidden},
		{"uid 0", `{"command":"a"}`, func(c *drivers.TaskConfig) { c.User = "0:5" }, "user", "nothing runs as root", yurt.CodeForbidden},
		{"unknown user", `{"command":"a"}`, func(c *drivers.TaskConfig) { c.User = "no-such-user" }, "user", `"no-such-user"`, yurt.CodeInvalidArgument},
		{"user out of range", `{"command":"a"}`, func(c *drivers.TaskConfig) { c.User = "70000" }, "user", "70000", yurt.CodeLimitOutOfRange},
		{"device elsewhere", `{"command":"a"}`, func(c *drivers.TaskConfig) { c.Devices = []*drivers.Device{{HostPath: "/dev/kvm", TaskPath: "/kvm"}} }, "mounts.devices", "below /dev", yurt.CodeInvalidArgument},
		{"device to make nodes", `{"command":"a"}`, func(c *drivers.TaskConfig) {
			c.Devices = []*drivers.Device{{HostPath: "/dev/kvm", TaskPath: "/dev/kvm", CgroupPermissions: "m"}}
		}, "device", "r, w and m", yurt.CodeInvalidArgument},
		{"device with odd permissions", `{"command":"a"}`, func(c *drivers.TaskConfig) {
			c.Devices = []*drivers.Device{{HostPath: "/dev/kvm", TaskPath: "/dev/kvm", CgroupPermissions: "rx"}}
		}, "device", "r, w and m", yurt.CodeInvalidArgument},
		{"name server", `{"command":"a"}`, func(c *drivers.TaskConfig) { c.Dns = &drivers.DNSConfig{Servers: []string{"1.1.1.1\nsearch x"}} }, "network.dns.servers", "address", yurt.CodeInvalidArgument},
		{"search domain", `{"command":"a"}`, func(c *drivers.TaskConfig) { c.Dns = &drivers.DNSConfig{Searches: []string{"a\nnameserver 1.1.1.1"}} }, "network.dns.searches", "one word", yurt.CodeInvalidArgument},
		{"cwd", `{"command":"a","cwd":"../../etc\u0000"}`, nil, "cwd", "", yurt.CodeInvalidPath},
		{"slot and command", `{"command":"a","slot":{"template_json":null,"for":null,"once":null}}`, nil, "command", "slot", yurt.CodeInvalidArgument},
		{"slot without template", `{"slot":{"template_json":null,"for":null,"once":null}}`, nil, "slot.template_json", "template", yurt.CodeInvalidArgument},
		{"unknown setting", `{"command":"a","privileged":true}`, nil, "config", "privileged", yurt.CodeUnknownField},
	} {
		t.Run(test.name, func(t *testing.T) {
			task := drivertest.Task(t, test.config)
			if test.change != nil {
				test.change(task)
			}
			_, err := translate(pluginconfig.Config{}, task)
			coded := new(yurt.Error)
			if !errors.As(err, &coded) {
				t.Fatalf("got %v, want an error about %s", err, test.field)
			}
			if coded.Field != test.field || coded.Code != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %s about %q: %v, want %s about %q with %q in it", coded.Code, coded.Field, err, test.code, test.field, test.says)
			}
		})
	}
}

func TestTranslate(t *testing.T) {
	task := drivertest.Task(t, `{"command":"/bin/echo","args":["hi"],"env_passthrough":["NOMAD_*"],"ulimits":{"nofile":"128"},"logs":{"max_files":3,"max_file_size":"1Mi"}}`)
	task.User = "nobody"
	p, err := translate(pluginconfig.Config{}, task)
	if err != nil {
		t.Fatal(err)
	}
	again, err := translate(pluginconfig.Config{}, task)
	if err != nil || again.Sandbox.ID != p.Sandbox.ID || again.Execution.ID != p.Execution.ID {
		t.Errorf("the same task has other ids: %v, %v, %v", again.Sandbox.ID, again.Execution.ID, err)
	}
	if p.Sandbox.Template.Name != defaultTemplate || p.Sandbox.Resources.Memory != 64<<20 || p.Sandbox.Limits().Ulimits.NoFile != 128 {
		t.Errorf("the sandbox is %+v", p.Sandbox)
	}
	if p.Sandbox.Env["NOMAD_TASK_NAME"] != "web" || p.Sandbox.Env["SECRET"] != "" {
		t.Errorf("the environment is %v", p.Sandbox.Env)
	}
	e := p.Execution
	if !e.Endless || strings.Join(e.Command, " ") != "/bin/echo hi" || e.User == nil || e.User.UID != nobody {
		t.Errorf("the execution is %+v", e)
	}
	want := yurt.LogFiles{Base: task.AllocDir, Dir: "alloc/logs", Stdout: "web.stdout", Stderr: "web.stderr", MaxFiles: 3, MaxSize: 1 << 20}
	if e.Logs == nil || *e.Logs != want {
		t.Errorf("the log files are %+v, want %+v", e.Logs, want)
	}
	if len(p.Sandbox.Host.CPUs) != 0 {
		t.Errorf("it is held to the processors %v", p.Sandbox.Host.CPUs)
	}
	task.Resources.LinuxResources.CpusetCpus = "0,3"
	if p, err := translate(pluginconfig.Config{}, task); err != nil || !slices.Equal(p.Sandbox.Host.CPUs, []int{0, 3}) || p.Sandbox.Resources.CPU != 2 {
		t.Errorf("with cores of its own it is %+v, %v", p.Sandbox, err)
	}
	task.Resources.LinuxResources.CpusetCpus = "all"
	if _, err := translate(pluginconfig.Config{}, task); !yurt.IsField(err, "cores") {
		t.Errorf("cores that are none: %v", err)
	}
	task.Resources.LinuxResources.CpusetCpus = ""
	task.StdoutPath, task.StderrPath = os.DevNull, os.DevNull
	if p, err := translate(pluginconfig.Config{}, task); err != nil || p.Execution.Logs != nil {
		t.Errorf("logs that are not wanted go to %+v, %v", p.Execution.Logs, err)
	}
}

func TestTemplates(t *testing.T) {
	dir := t.TempDir()
	text := "template \"own\" {\n  extends = \"python-basic\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "own.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	known := Templates{Shipped: hcl.Defaults, Dir: dir}
	for _, test := range []struct {
		task Config
		want string
	}{
		{Config{Template: "own"}, "own"},
		{Config{Template: "template \"mine\" {\n  extends = \"own\"\n}\n"}, "mine"},
		{Config{Template: `{"name":"json","runtimes":["python"]}`}, "json"},
		{Config{Language: "python"}, "python-basic"},
		{Config{Slot: &slotConfig{TemplateJSON: `{"name":"slotted"}`}}, "slotted"},
		{Config{}, defaultTemplate},
	} {
		got, err := known.of(&test.task)
		if err != nil || got.Name != test.want {
			t.Errorf("%+v has template %q, %v, want %q", test.task, got.Name, err, test.want)
		}
	}
}

// TestFractions: a number without an exact form in binary is a number all the same.
func TestFractions(t *testing.T) {
	for _, cpu := range []string{"0.1", "0.25", "2"} {
		var c Config
		if err := schema.Decode(drivertest.Packed(t, `{"command":"a","resources":{"cpu":`+cpu+`}}`), &c); err != nil || fmt.Sprint(c.Resources.CPU) != cpu {
			t.Errorf("%s cores are %+v, %v", cpu, c.Resources, err)
		}
	}
	if err := schema.Decode(drivertest.Packed(t, `{"command":"a","resources":{"cpu":"many"}}`), new(Config)); err == nil {
		t.Error("many cores are allowed")
	}
}

// FuzzConfig reads any bytes as a task's configuration: they are refused, or mean a task whose
// execution is valid.
func FuzzConfig(f *testing.F) {
	f.Add(drivertest.Packed(f, `{"command":"a","args":["b"],"mounts":[{"source":"local/x","target":"/x","read_only":true}]}`))
	f.Add(drivertest.Packed(f, `{"code":"a","language":"python","resources":{"cpu":1,"memory":"64Mi","disk":null,"pids":5}}`))
	f.Add([]byte{0x81, 0xa1, 'x', 0xc0})
	f.Fuzz(func(t *testing.T, data []byte) {
		task := drivertest.Task(t, `{}`)
		task.MsgpackDriverConfig = data
		p, err := translate(pluginconfig.Config{}, task)
		if err == nil && p.Execution.Validate() != nil {
			t.Fatalf("%x means %+v", data, p)
		}
	})
}

func TestDeviceAccess(t *testing.T) {
	for permissions, want := range map[string]yurt.DeviceAccess{"": "rw", "rwm": "rw", "mwr": "rw", "r": "r", "wm": "w"} {
		if got, err := deviceAccess(permissions); got != want || err != nil {
			t.Errorf("%q gives %q, %v; want %q", permissions, got, err, want)
		}
	}
}
