package driver

import (
	"errors"
	"path/filepath"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
)

// plan is a task in the executor's terms.
type plan struct {
	sandbox   yurt.SandboxSpec
	execution yurt.ExecutionSpec
	names     []nameFile     // to be written first
	slot      *yurt.SlotSpec // instead of those
	ownLogs   bool           // whether the task itself bounds its logs
	ownName   bool           // whether it asks for a host name
	image     *TaskConfig    // set if the task has an image, whose configuration completes the command
}

// plan translates the task, or returns its fault. It makes no call.
func (d *Driver) plan(config *drivers.TaskConfig) (plan, error) {
	operator := d.settings()
	c, err := readTaskConfig(config.GetMsgpackDriverConfig(), operator)
	if err != nil {
		return plan{}, err
	}
	template, err := d.templates().of(&c)
	if err != nil {
		return plan{}, err
	}
	resources, err := c.resources(template, config.GetResources())
	if err != nil {
		return plan{}, err
	}
	if c.Slot != nil {
		return plan{slot: c.slot(config, template, resources)}, nil
	}
	host, names, err := c.hostAccess(config, operator)
	if err != nil {
		return plan{}, err
	}
	p := plan{execution: c.execution(), names: names, ownLogs: c.Logs != nil, ownName: c.Hostname != ""}
	if c.Image != "" {
		if err := yurt.ValidateImage("image", c.Image); err != nil {
			return plan{}, err
		}
		template.RootFS = yurt.RootFS{Image: c.Image}
		p.image = &c
	}
	p.sandbox = yurt.SandboxSpec{
		ID: yurt.SandboxIDPrefix + key(config.GetId()), Template: template, Resources: resources, Labels: labels(config), Host: host,
		Env: c.environment(config.GetEnv()), // also of commands of nomad alloc exec
	}
	e := &p.execution
	e.ID, e.Endless = yurt.ExecutionIDPrefix+key(config.GetId()), true
	if err := yurt.ValidateEnv("env", p.sandbox.Env); err != nil {
		return plan{}, err
	}
	if e.User, err = userOf(config.GetUser()); err != nil {
		return plan{}, err
	}
	if e.Logs, err = c.logFiles(config); err != nil {
		return plan{}, err
	}
	if p.image != nil {
		return p, nil // checked once the image is known
	}
	return p, e.Validate()
}

func labels(config *drivers.TaskConfig) map[string]string {
	return map[string]string{
		labelTask: config.GetId(), yurt.LabelNomadAlloc: config.GetAllocId(), yurt.LabelNomadJob: config.GetJobId(),
		yurt.LabelNomadNamespace: config.GetNamespace(), labelDir: config.GetAllocDir(),
	}
}

// slot is the slot that the task asks for.
func (c *TaskConfig) slot(config *drivers.TaskConfig, template yurt.Template, room yurt.Resources) *yurt.SlotSpec {
	spec := &yurt.SlotSpec{ID: c.Slot.ID, Template: template, Resources: room, For: c.Slot.For, Once: c.Slot.Once, Labels: labels(config)}
	if spec.ID == "" {
		spec.ID = key(config.GetId())
	}
	return spec
}

// logFiles are where Nomad looks for the task's output. It makes no pipes for a driver that
// does not want them; where they would be says where the files go.
func (c *TaskConfig) logFiles(config *drivers.TaskConfig) (*yurt.LogFiles, error) {
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

// isField reports whether the error is about that field.
func isField(err error, field string) bool {
	coded := new(yurt.Error)
	return errors.As(err, &coded) && coded.Field == field
}
