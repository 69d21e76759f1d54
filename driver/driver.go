package driver

import (
	"context"
	"log/slog"
	"os"
	"sync"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/node"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
	"github.com/yurtrun/yurt/driver/internal/taskspec"
	"github.com/yurtrun/yurt/hcl"
)

// Driver is the state of the plugin: the messages of Nomad's client. All other state is the executor's.
type Driver struct {
	version string
	logger  *slog.Logger
	shipped func() ([]yurt.Template, error) // read once
	ctx     context.Context                 //nolint:containedctx // the plugin's own, which ends with it
	stop    context.CancelFunc
	wait    sync.WaitGroup

	mu     sync.Mutex
	config pluginconfig.Config
	node   *node.Executor // nil until it is needed
	tasks  map[string]*task

	events events
}

func newDriver(ctx context.Context, version string, logger *slog.Logger) *Driver {
	d := &Driver{
		version: version, logger: logger, shipped: sync.OnceValues(hcl.Defaults),
		tasks: make(map[string]*task), config: pluginconfig.Config{StateDir: pluginconfig.DefaultStateDir},
	}
	d.ctx, d.stop = context.WithCancel(ctx)
	return d
}

// close ends the driver's background work. Tasks go on.
func (d *Driver) close() {
	d.stop()
	d.wait.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.node != nil {
		d.node.Close()
	}
}

func (d *Driver) configure(config pluginconfig.Config) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.config = config
}

// settings is the operator's configuration.
func (d *Driver) settings() pluginconfig.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config
}

// templates are those that tasks may name.
func (d *Driver) templates() taskspec.Templates {
	return taskspec.Templates{Shipped: d.shipped, Dir: d.settings().TemplateDir}
}

// executor returns the node's executor, which may have to be started for that.
func (d *Driver) executor() *node.Executor {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.node == nil {
		d.node = node.New(d.config, d.logger)
	}
	return d.node
}

func (d *Driver) add(t *task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tasks[t.id] = t
}

func (d *Driver) remove(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.tasks, id)
}

// find returns a task that was started or recovered.
func (d *Driver) find(id string) (*task, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tasks[id]; t != nil {
		return t, nil
	}
	return nil, wire(yurt.Errorf(yurt.CodeNotFound, "task not found for given id"))
}

// TaskConfig is the config block of a task.
type TaskConfig = taskspec.Config

// driverServer answers the calls that Nomad makes to a driver, one or two files a method.
type driverServer struct {
	drivers.UnimplementedDriverServer
	driver *Driver
}

// TaskConfigSchema implements the service.
func (*driverServer) TaskConfigSchema(context.Context, *drivers.TaskConfigSchemaRequest) (*drivers.TaskConfigSchemaResponse, error) {
	return &drivers.TaskConfigSchemaResponse{Spec: taskspec.Schema()}, nil
}

// Capabilities implements the service.
func (*driverServer) Capabilities(context.Context, *drivers.CapabilitiesRequest) (*drivers.CapabilitiesResponse, error) {
	return &drivers.CapabilitiesResponse{Capabilities: &drivers.DriverCapabilities{
		SendSignals: true, Exec: true, FsIsolation: drivers.DriverCapabilities_IMAGE,
		NetworkIsolationModes: []drivers.NetworkIsolationSpec_NetworkIsolationMode{
			drivers.NetworkIsolationSpec_HOST, drivers.NetworkIsolationSpec_GROUP, drivers.NetworkIsolationSpec_NONE,
		},
		MountConfigs: drivers.DriverCapabilities_ANY_MOUNTS,
		// The executor writes the log files itself, which costs no process a task.
		DisableLogCollection: true,
	}}, nil
}

// newLogger writes lines that Nomad's client reads as its own.
func newLogger() *slog.Logger {
	names := map[string]string{slog.TimeKey: "@timestamp", slog.LevelKey: "@level", slog.MessageKey: "@message"}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		name, ok := names[a.Key]
		if !ok || len(groups) > 0 {
			return a
		}
		if a.Key == slog.TimeKey {
			return slog.String(name, a.Value.Time().Format("2006-01-02T15:04:05.000000Z07:00"))
		}
		return slog.Any(name, levelName(a))
	}}))
}

// levelName is the name of a level as Nomad writes it; any other value as it is.
func levelName(a slog.Attr) any {
	level, ok := a.Value.Any().(slog.Level)
	if !ok {
		return a.Value.Any()
	}
	switch {
	case level >= slog.LevelError:
		return "error"
	case level >= slog.LevelWarn:
		return "warn"
	case level >= slog.LevelInfo:
		return "info"
	default:
		return "debug"
	}
}
