package taskspec

import (
	"crypto/sha256"
	"encoding/base32"
	"path/filepath"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
)

// Spec is a task in the executor's terms.
type Spec struct {
	Sandbox   yurt.SandboxSpec
	Execution yurt.ExecutionSpec
	Slot      *yurt.SlotSpec // instead of those
	OwnLogs   bool           // whether the task itself bounds its logs
	OwnName   bool           // whether it asks for a host name

	names []nameFile // for the task's directory
	image *Config    // set if the task has an image, whose configuration completes the command
}

// Labels of the sandboxes of tasks, beside those that the domain names.
const (
	LabelTask = "nomad_task_id"
	LabelDir  = "nomad_alloc_dir"
)

// Translate returns the task in the executor's terms, or its fault. It makes no call.
func Translate(config *drivers.TaskConfig, operator pluginconfig.Config, templates Templates) (Spec, error) {
	c, err := read(config.GetMsgpackDriverConfig(), operator)
	if err != nil {
		return Spec{}, err
	}
	template, err := templates.of(&c)
	if err != nil {
		return Spec{}, err
	}
	resources, err := c.resources(template, config.GetResources())
	if err != nil {
		return Spec{}, err
	}
	if c.Slot != nil {
		return Spec{Slot: c.slot(config, template, resources)}, nil
	}
	host, names, err := c.hostAccess(config, operator)
	if err != nil {
		return Spec{}, err
	}
	p := Spec{Execution: c.execution(), names: names, OwnLogs: c.Logs != nil, OwnName: c.Hostname != ""}
	if c.Image != "" {
		if err := yurt.ValidateImage("image", c.Image); err != nil {
			return Spec{}, err
		}
		template.RootFS = yurt.RootFS{Image: c.Image}
		p.image = &c
	}
	p.Sandbox = yurt.SandboxSpec{
		ID: yurt.SandboxIDPrefix + Key(config.GetId()), Template: template, Resources: resources, Labels: labels(config), Host: host,
		Env: c.environment(config.GetEnv()), // also of commands of nomad alloc exec
	}
	e := &p.Execution
	e.ID, e.Endless = yurt.ExecutionIDPrefix+Key(config.GetId()), true
	if err := yurt.ValidateEnv("env", p.Sandbox.Env); err != nil {
		return Spec{}, err
	}
	if e.User, err = userOf(config.GetUser()); err != nil {
		return Spec{}, err
	}
	if e.Logs, err = c.logFiles(config); err != nil {
		return Spec{}, err
	}
	if p.image != nil {
		return p, nil // checked once the image is known
	}
	return p, e.Validate()
}

func labels(config *drivers.TaskConfig) map[string]string {
	return map[string]string{
		LabelTask: config.GetId(), yurt.LabelNomadAlloc: config.GetAllocId(), yurt.LabelNomadJob: config.GetJobId(),
		yurt.LabelNomadNamespace: config.GetNamespace(), LabelDir: config.GetAllocDir(),
	}
}

// slot is the slot that the task asks for.
func (c *Config) slot(config *drivers.TaskConfig, template yurt.Template, room yurt.Resources) *yurt.SlotSpec {
	spec := &yurt.SlotSpec{ID: c.Slot.ID, Template: template, Resources: room, For: c.Slot.For, Once: c.Slot.Once, Labels: labels(config)}
	if spec.ID == "" {
		spec.ID = Key(config.GetId())
	}
	return spec
}

// logFiles are where Nomad looks for the task's output. It makes no pipes for a driver that
// does not want them; where they would be says where the files go.
func (c *Config) logFiles(config *drivers.TaskConfig) (*yurt.LogFiles, error) {
	if config.GetStdoutPath() == "" || config.GetStdoutPath() == "/dev/null" {
		return nil, nil //nolint:nilnil // the job has no such block
	}
	dir, err := filepath.Rel(config.GetAllocDir(), filepath.Dir(config.GetStdoutPath()))
	if err != nil || dir == ".." || filepath.IsAbs(dir) {
		return nil, yurt.Errorf(yurt.CodeInternal, "the log directory %s is not in the allocation's directory %s", filepath.Dir(config.GetStdoutPath()), config.GetAllocDir())
	}
	files := &yurt.LogFiles{
		Base: config.GetAllocDir(), Dir: dir, Stdout: config.GetName() + ".stdout", Stderr: config.GetName() + ".stderr",
		MaxFiles: defaultLogFiles, MaxSize: defaultLogSize,
	}
	if c.Logs == nil {
		return files, nil
	}
	if c.Logs.MaxFiles != 0 {
		files.MaxFiles = c.Logs.MaxFiles
	}
	if c.Logs.MaxSize != "" {
		if files.MaxSize, err = yurt.ParseSize(c.Logs.MaxSize); err != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "logs.max_file_size", "%w", err)
		}
	}
	return files, files.Validate("logs")
}

// As Nomad's own logs block has them.
const (
	defaultLogFiles           = 10
	defaultLogSize  yurt.Size = 10 << 20
)

// Key is the end of ids that are derived from a task's: its own has slashes, and says too much.
func Key(taskID string) string {
	sum := sha256.Sum256([]byte(taskID))
	return lower.EncodeToString(sum[:16])
}

var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding) //nolint:gochecknoglobals // a constant in all but name
