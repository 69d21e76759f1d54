package nomad

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
)

const (
	driver    = "yurt"  // of the task that is a slot
	jobPrefix = "yurt-" // of a job's id, before that of its slot

	// Keys of a job's meta, by which it is known to be a slot of ours.
	metaSlot     = "yurt_slot"
	metaSession  = "yurt_session"
	metaTemplate = "yurt_template"
	metaDigest   = "yurt_digest"

	defaultPriority = 60 // of a job that a session waits for
	warmBehind      = 10 // how much lower the priority of a refill is

	mebibyte       = 1 << 20
	minMemoryMB    = 10 // that Nomad accepts
	minDiskMB      = 10
	preferWeight   = 50 // of an affinity to the first node that is preferred
	preferNext     = 10 // how much less the next one has
	maxPreferences = 5
)

// jobspec makes the job of a slot. It is never changed once it is made.
type jobspec struct {
	job  *api.Job
	slot int // which task of its group is
}

// newJobspec checks the job that Nomad parsed from the operator's text, and binds it to its namespace and region.
func newJobspec(job *api.Job, config *Config) (*jobspec, error) {
	if job.Type != nil && *job.Type != api.JobTypeBatch {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the jobspec's type is %q; a slot is a %q job", *job.Type, api.JobTypeBatch)
	}
	if job.Periodic != nil || job.ParameterizedJob != nil || job.Multiregion != nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the jobspec is periodic, parameterized or multiregion; a slot is one plain batch job")
	}
	if len(job.TaskGroups) != 1 {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the jobspec has %d groups; give one", len(job.TaskGroups))
	}
	if count := job.TaskGroups[0].Count; count != nil && *count != 1 {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the jobspec's group has count = %d; a slot is one allocation", *count)
	}
	s := &jobspec{job: job}
	slots := 0
	for i, task := range job.TaskGroups[0].Tasks {
		if task.Driver == driver {
			slots++
			s.slot = i
		}
	}
	if slots != 1 {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the jobspec has %d tasks of the driver %q; give one, which becomes the slot", slots, driver)
	}
	batch := api.JobTypeBatch
	job.Type = &batch
	if len(config.Datacenters) > 0 {
		job.Datacenters = config.Datacenters
	}
	setPointer(&job.NodePool, config.NodePool)
	setPointer(&job.Namespace, config.Namespace)
	setPointer(&job.Region, config.Region)
	return s, nil
}

func setPointer(to **string, value string) {
	if value != "" {
		*to = &value
	}
}

// fill returns the job of a slot. A core is mhz in Nomad's unit.
func (s *jobspec) fill(order *cluster.Order, mhz float64) (*api.Job, error) {
	job := *s.job
	group := *job.TaskGroups[0]
	id := jobID(order.SlotID)
	digest := order.Template.Digest()
	job.ID, job.Name = &id, &id
	job.Meta = with(job.Meta, map[string]string{
		metaSlot: order.SlotID, metaSession: order.SessionID, metaTemplate: order.Template.Name, metaDigest: digest,
	})
	priority := defaultPriority
	if job.Priority != nil {
		priority = *job.Priority
	}
	if order.SessionID == "" {
		priority = max(1, priority-warmBehind)
	}
	job.Priority = &priority
	job.Affinities = append(slices.Clone(job.Affinities), affinities(order.Prefer)...)
	job.Constraints = slices.Clone(job.Constraints)
	if order.Template.RootFS.Image != "" {
		job.Constraints = append(job.Constraints, api.NewConstraint(imagesAllowed, "!=", "false"))
	}
	for _, node := range order.Avoid {
		job.Constraints = append(job.Constraints, api.NewConstraint(nodeName, "!=", node))
	}

	disk := minDiskMB
	if order.Resources.Or(order.Template.Resources).OnDisk() {
		disk = max(disk, megabytes(order.Resources.Disk))
	}
	ephemeral := api.EphemeralDisk{}
	if group.EphemeralDisk != nil {
		ephemeral = *group.EphemeralDisk
	}
	ephemeral.SizeMB = &disk
	group.EphemeralDisk = &ephemeral

	group.Tasks = slices.Clone(group.Tasks)
	filled, err := fillTask(group.Tasks[s.slot], order, mhz)
	if err != nil {
		return nil, err
	}
	group.Tasks[s.slot] = filled
	job.TaskGroups = []*api.TaskGroup{&group}
	return &job, nil
}

// fillTask returns the task of a slot: its room, and the template of its sandboxes.
func fillTask(from *api.Task, order *cluster.Order, mhz float64) (*api.Task, error) {
	template, err := json.Marshal(order.Template)
	if err != nil {
		return nil, fmt.Errorf("the template of a slot: %w", err)
	}
	task := *from
	resources := api.Resources{}
	if task.Resources != nil {
		resources = *task.Resources
	}
	cpu := max(1, int(math.Ceil(order.Resources.CPU*mhz)))
	memory := max(minMemoryMB, megabytes(order.Resources.Memory))
	resources.CPU, resources.Cores, resources.MemoryMB = &cpu, nil, &memory
	task.Resources = &resources
	task.Config = maps.Clone(task.Config)
	if task.Config == nil {
		task.Config = map[string]any{}
	}
	slot := map[string]any{
		"id":            order.SlotID, // by which the node is asked for it
		"template_json": string(template),
		"once":          order.Once,
	}
	if order.SessionID != "" {
		slot["for"] = order.SessionID
	}
	task.Config["slot"] = []map[string]any{slot}
	setLimits(task.Config, order.Resources, order.Template.Resources)
	return &task, nil
}

// setLimits sets the limits of the slot's sandboxes. Nomad's own words for them are coarser, and fewer. Limits of the template
// are not repeated.
func setLimits(config map[string]any, r, template yurt.Resources) {
	block := map[string]any{"cpu": r.CPU, "memory": r.Memory.String(), "disk": r.Disk.String(), "pids": r.PIDs}
	if r.DiskKind != template.DiskKind {
		block["disk_kind"] = string(r.DiskKind)
	}
	if r.IOWeight != template.IOWeight {
		block["io_weight"] = r.IOWeight
	}
	config["resources"] = []map[string]any{block}
	if r.Ulimits == template.Ulimits {
		return
	}
	ulimits := map[string]string{}
	for name, value := range map[string]int64{"nofile": int64(r.Ulimits.NoFile), "fsize": int64(r.Ulimits.FSize), "stack": int64(r.Ulimits.Stack)} {
		if value != 0 {
			ulimits[name] = strconv.FormatInt(value, 10)
		}
	}
	config["ulimits"] = ulimits
}

// nodeName is Nomad's attribute for the name of a node.
const nodeName = "${node.unique.name}"

// imagesAllowed is an attribute that the driver gives a node: whether its operator allows container images. An old driver gives no
// such attribute, which is not "false".
const imagesAllowed = "${attr.driver.yurt.images}"

// affinities draw a job to the nodes that are preferred, the first one most.
func affinities(nodes []string) []*api.Affinity {
	list := make([]*api.Affinity, 0, min(len(nodes), maxPreferences))
	for i, node := range nodes[:min(len(nodes), maxPreferences)] {
		list = append(list, api.NewAffinity(nodeName, "=", node, int8(preferWeight-i*preferNext)))
	}
	return list
}

func jobID(slotID string) string { return jobPrefix + slotID }

// megabytes returns size in Nomad's megabytes, rounded up.
func megabytes(size yurt.Size) int { return int((int64(size) + mebibyte - 1) / mebibyte) }

func with(to, more map[string]string) map[string]string {
	all := make(map[string]string, len(to)+len(more))
	maps.Copy(all, to)
	maps.Copy(all, more)
	return all
}
