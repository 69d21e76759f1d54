package taskspec

import (
	"github.com/hashicorp/nomad/plugins/shared/hclspec"

	"github.com/yurtrun/yurt/driver/internal/schema"
)

// Config is the config block of a task.
type Config struct {
	Template   string   `json:"template"`   // a name, or a whole template in HCL or JSON
	Command    string   `json:"command"`    // the program
	Args       []string `json:"args"`       // of the command, or of the code's program
	Entrypoint []string `json:"entrypoint"` // before command and args
	Code       string   `json:"code"`
	Language   string   `json:"language"`
	Image      string   `json:"image"`
	Cwd        string   `json:"cwd"`
	Network    string   `json:"network"` // "none", "host" or "group"
	Hostname   string   `json:"hostname"`
	Isolation  string   `json:"isolation"`
	Seccomp    string   `json:"seccomp"`
	// EnvPassthrough are patterns of names: no other variable of the task reaches the
	// sandbox. nil lets all through.
	EnvPassthrough []string          `json:"env_passthrough"`
	Ulimits        map[string]string `json:"ulimits"`
	CPUHardLimit   bool              `json:"cpu_hard_limit"`
	Mounts         []mountConfig     `json:"mounts"`
	Resources      *resourceConfig   `json:"resources"`
	Logs           *logConfig        `json:"logs"`
	Slot           *slotConfig       `json:"slot"`
}

// mountConfig is a mounts block.
type mountConfig struct {
	Source   string `json:"source"` // relative to the task's directory, or one of the node's
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only"`
}

// resourceConfig is the resources block in config, for limits that Nomad's own block lacks.
type resourceConfig struct {
	CPU    schema.Fraction `json:"cpu"` // cores
	Memory string          `json:"memory"`
	Disk   string          `json:"disk"`
	PIDs   int             `json:"pids"`

	DiskKind string `json:"disk_kind"`
	IOWeight int    `json:"io_weight"`
}

// logConfig is the logs block in config, which wins over that of the job, see the operator's nomad_address.
type logConfig struct {
	MaxFiles int    `json:"max_files"`
	MaxSize  string `json:"max_file_size"`
}

// slotConfig is the slot block.
type slotConfig struct {
	ID           string `json:"id"` // the placer's name for it; empty for the task's
	TemplateJSON string `json:"template_json"`
	For          string `json:"for"`
	Once         bool   `json:"once"`
}

// Schema is that of [Config].
func Schema() *hclspec.Spec {
	attributes := map[string]*hclspec.Spec{
		"mounts": hclspec.BlockListSpec(&hclspec.BlockList{Name: "mounts", Nested: hclspec.NewObject(map[string]*hclspec.Spec{
			"source":    hclspec.NewAttr("source", "string", true),
			"target":    hclspec.NewAttr("target", "string", true),
			"read_only": hclspec.NewAttr("read_only", "bool", false),
		})}),
		"resources": hclspec.NewBlock("resources", false, schema.Object(map[string]string{
			"cpu": "number", "memory": "string", "disk": "string", "pids": "number",
			"disk_kind": "string", "io_weight": "number",
		})),
		"logs":    hclspec.NewBlock("logs", false, schema.Object(map[string]string{"max_files": "number", "max_file_size": "string"})),
		"ulimits": hclspec.NewBlockAttrs("ulimits", "string", false),
		"slot":    hclspec.NewBlock("slot", false, schema.Object(map[string]string{"id": "string", "template_json": "string", "for": "string", "once": "bool"})),
	}
	for name, kind := range map[string]string{
		"template": "string", "command": "string", "args": "list(string)", "entrypoint": "list(string)",
		"code": "string", "language": "string", "image": "string", "cwd": "string", "network": "string", "hostname": "string",
		"isolation": "string", "seccomp": "string", "env_passthrough": "list(string)",
		"cpu_hard_limit": "bool",
	} {
		attributes[name] = hclspec.NewAttr(name, kind, false)
	}
	return hclspec.NewObject(attributes)
}
