package hcl

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
)

const fullJSON = `{
  "name": "full",
  "description": "Everything",
  "rootfs": {"host_paths": ["/usr", "/opt/x"]},
  "runtimes": ["python"],
  "env": {"A": "1", "with.dots": ""},
  "resources": {"cpu": 0.5, "memory": "1Gi", "disk": 2097152, "pids": 16},
  "isolation": {"level": "namespaces"},
  "network": {"mode": "none"},
  "session": {"timeout": "2h", "idle_timeout": 60, "execution_timeout": 1.5, "output_limit": "1Mi"}
}`

func TestParseJSON(t *testing.T) {
	full := yurt.Template{
		Name: "full", Description: "Everything",
		RootFS:    yurt.RootFS{HostPaths: []string{"/usr", "/opt/x"}},
		Runtimes:  []string{"python"},
		Env:       map[string]string{"A": "1", "with.dots": ""},
		Resources: yurt.Resources{CPU: 0.5, Memory: 1 << 30, Disk: 2 << 20, PIDs: 16},
		Isolation: yurt.Isolation{Level: yurt.IsolationNamespaces},
		Network:   yurt.Network{Mode: yurt.NetworkNone},
		Session:   yurt.SessionLimits{Timeout: 7200e9, IdleTimeout: 60e9, ExecutionTimeout: 1.5e9, OutputLimit: 1 << 20},
	}
	minimal := WithDefaults(yurt.Template{Name: "a"})
	for _, tt := range []struct {
		name, src string
		want      yurt.Template
	}{
		{"full", fullJSON, full},
		{"minimal", `{"name":"a"}`, minimal},
		{"space around", " \r\n\t{ \"name\" : \"a\" } \n", minimal},
		{"null is missing", `{"name":"a","description":null,"rootfs":null,"runtimes":null,"env":null,"resources":{"cpu":null,"memory":null},"session":null}`, minimal},
		{"zero is missing", `{"name":"a","rootfs":{"host_paths":[]},"resources":{"cpu":0,"memory":0,"disk":"0","pids":0},"isolation":{"level":""},"network":{"mode":""},"session":{"timeout":0,"idle_timeout":"0s","execution_timeout":0,"output_limit":0}}`, minimal},
		{"whole numbers", `{"name":"a","resources":{"pids":64.0,"io_weight":1e2}}`, WithDefaults(yurt.Template{Name: "a", Resources: yurt.Resources{PIDs: 64, IOWeight: 100}})},
		{"escapes", `{"n\u0061me":"\u0061"}`, minimal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseJSON([]byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
		})
	}
}

type badJSONCase struct {
	name, src    string
	code         yurt.Code
	field        string // of the first problem
	line, column int
	says         string // in its detail
}

func badJSON() []badJSONCase {
	const malformed, unknown, invalid = yurt.CodeMalformedBody, yurt.CodeUnknownField, yurt.CodeTemplateInvalid
	return []badJSONCase{
		{"nothing", ``, malformed, "", 1, 1, "not JSON"},
		{"space", ` `, malformed, "", 1, 1, "not JSON"},
		{"cut", `{"name":`, malformed, "", 1, 8, "unexpected end"},
		{"text after", `{"name":"a"} x`, malformed, "", 1, 14, "after top-level value"},
		{"two objects", `{"name":"a"}{"name":"b"}`, malformed, "", 1, 13, "after top-level value"},
		{"not UTF-8", "{\"name\":\"\xff\"}", malformed, "", 1, 1, "UTF-8"},
		{"deep", strings.Repeat("[", 200_000), malformed, "", 1, 10001, "depth"},
		{"too large", `{"name":"` + strings.Repeat("a", MaxSourceBytes) + `"}`, malformed, "", 1, 1, "at most 1048576"},
		{"null", `null`, invalid, "", 1, 1, "null is not an object"},
		{"list", ` []`, invalid, "", 1, 1, "a list is not an object"},
		{"no name", `{}`, invalid, "name", 0, 0, "the name is empty"},
		{"unknown", "{\n \"nam\": \"a\",\"name\":\"a\"}", unknown, "nam", 2, 2, `Did you mean "name"?`},
		{"unknown below", `{"name":"a","resources":{"cores":1}}`, unknown, "resources.cores", 1, 26, "cpu, disk, disk_kind, io_weight, memory, pids, ulimits"},
		{"unknown further below", `{"name":"a","resources":{"ulimits":{"files":1}}}`, unknown, "resources.ulimits.files", 1, 37, "fsize, nofile, stack"},
		{"in another case", `{"Name":"a"}`, unknown, "Name", 1, 2, `Did you mean "name"?`},
		{"HCL's name", `{"name":"a","rootfs":{"host":{}}}`, unknown, "rootfs.host", 1, 23, "host_paths"},
		{"later", `{"name":"a","mounts":{}}`, invalid, "mounts", 1, 13, "not supported yet"},
		{"later below", `{"name":"a","rootfs":{"tarball":"x"}}`, invalid, "rootfs.tarball", 1, 23, "not supported yet"},
		{"extends", `{"name":"a","extends":"b"}`, invalid, "extends", 1, 13, "HCL"},
		{"twice", `{"name":"a","name":"b"}`, invalid, "name", 1, 13, "given twice"},
		{"twice in env", `{"name":"a","env":{"A":"1","A":"2"}}`, invalid, "env.A", 1, 28, "given twice"},
		{"name a number", `{"name": 7 }`, invalid, "name", 1, 10, "7 is not text"},
		{"env a number", `{"name":"a","env":{"A":1}}`, invalid, "env.A", 1, 24, "1 is not text"},
		{"env null", `{"name":"a","env":{"A":null}}`, invalid, "env.A", 1, 24, "null is not text"},
		{"env a list", `{"name":"a","env":["A"]}`, invalid, "env", 1, 19, "a list is not an object"},
		{"runtimes text", `{"name":"a","runtimes":"python"}`, invalid, "runtimes", 1, 24, "not a list"},
		{"runtime null", `{"name":"a","runtimes":["b", null]}`, invalid, "runtimes[1]", 1, 30, "null is not text"},
		{"cpu text", `{"name":"a","resources":{"cpu":"1"}}`, invalid, "resources.cpu", 1, 32, "text is not a number"},
		{"cpu huge", `{"name":"a","resources":{"cpu":1e999}}`, invalid, "resources.cpu", 1, 32, "1e999 is not a number"},
		{"cpu range", `{"name":"a","resources":{"cpu":-1}}`, invalid, "resources.cpu", 1, 32, "0.01 to 512"},
		{"pids part", `{"name":"a","resources":{"pids":1.5}}`, invalid, "resources.pids", 1, 33, "1.5 is not a whole number"},
		{"memory words", `{"name":"a","resources":{"memory":"lots"}}`, invalid, "resources.memory", 1, 35, "not a size"},
		{"memory bool", `{"name":"a","resources":{"memory":true}}`, invalid, "resources.memory", 1, 35, "must be a number or a string"},
		{"timeout range", `{"name":"a","session":{"timeout":"1ms"}}`, invalid, "session.timeout", 1, 34, "out of range"},
		{"path", `{"name":"a","rootfs":{"host_paths":["/usr","/root/x"]}}`, invalid, "rootfs.host_paths[1]", 1, 44, "cannot be bound"},
		{"gvisor", `{"name":"a","isolation":{"level":"gvisor"}}`, invalid, "isolation.level", 1, 34, "not supported yet"},
	}
}

func TestParseJSONErrors(t *testing.T) {
	for _, tt := range badJSON() {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseJSON([]byte(tt.src))
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			checkError(t, err)
			if got := yurt.CodeOf(err); got != tt.code {
				t.Errorf("the code is %s, want %s", got, tt.code)
			}
			d := e.Diagnostics[0]
			if d.Field != tt.field || d.Line != tt.line || d.Column != tt.column {
				t.Errorf("it is at %q, line %d, column %d; want %q, %d, %d", d.Field, d.Line, d.Column, tt.field, tt.line, tt.column)
			}
			if !strings.Contains(d.Detail, tt.says) {
				t.Errorf("%q does not say %q", d.Detail, tt.says)
			}
		})
	}
}

// TestParseJSONReportsAll: several problems come at once, in the order of the source.
func TestParseJSONReportsAll(t *testing.T) {
	_, err := ParseJSON([]byte(`{"name":"A", "resources":{"cpu":-1,"memry":1}, "network":{"mode":"host"}}`))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	var fields []string
	for _, d := range e.Diagnostics {
		fields = append(fields, d.Field)
	}
	if diff := cmp.Diff([]string{"name", "resources.cpu", "resources.memry", "network.mode"}, fields); diff != "" {
		t.Error(diff)
	}
}
