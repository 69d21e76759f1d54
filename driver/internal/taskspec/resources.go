package taskspec

import (
	"runtime"
	"strconv"
	"strings"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
)

// resources are the limits of a task's sandbox: the job's reservation, and limits without a word of Nomad's from the config block
// or the template.
func (c *Config) resources(template yurt.Template, granted *drivers.Resources) (r yurt.Resources, err error) {
	linux := granted.GetLinuxResources()
	r = yurt.Resources{Memory: yurt.Size(linux.GetMemoryLimitBytes()), CPU: c.cores(linux)}
	if own := c.Resources; own != nil {
		if own.CPU != 0 {
			r.CPU = float64(own.CPU)
		}
		r.PIDs, r.DiskKind, r.IOWeight = own.PIDs, yurt.DiskKind(own.DiskKind), own.IOWeight
		for _, f := range []struct {
			field, text string
			into        *yurt.Size
		}{{"resources.memory", own.Memory, &r.Memory}, {"resources.disk", own.Disk, &r.Disk}} {
			if f.text == "" {
				continue
			}
			if *f.into, err = yurt.ParseSize(f.text); err != nil {
				return r, yurt.FieldErrorf(yurt.CodeInvalidArgument, f.field, "%w", err)
			}
		}
	}
	if r.Ulimits, err = c.ulimits(); err != nil {
		return r, err
	}
	r = r.Or(template.Resources).Or(yurt.DefaultResources())
	return r, r.Validate("resources")
}

// cores is how many processors the task may keep busy. A reservation in MHz is a share that other tasks cannot take away, and no
// limit, unless the job wants it to be one.
func (c *Config) cores(linux *drivers.LinuxResources) float64 {
	all := float64(runtime.NumCPU())
	if set, err := cpuset(linux); err == nil && len(set) > 0 {
		return float64(len(set))
	}
	if c.CPUHardLimit && linux.GetPercentTicks() > 0 {
		return max(yurt.MinCPU, min(all, linux.GetPercentTicks()*all))
	}
	return all
}

// cpuset is the numbers of the processors that are the task's alone.
func cpuset(linux *drivers.LinuxResources) ([]int, error) {
	if linux.GetCpusetCpus() == "" {
		return nil, nil
	}
	var cpus []int
	for text := range strings.SplitSeq(linux.GetCpusetCpus(), ",") {
		cpu, err := strconv.Atoi(text)
		if err != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "cores", "%q is not a list of processors", linux.GetCpusetCpus())
		}
		cpus = append(cpus, cpu)
	}
	return cpus, nil
}

// ulimits reads those of the task's processes.
func (c *Config) ulimits() (u yurt.Ulimits, err error) {
	for name, text := range c.Ulimits {
		size, err := yurt.ParseSize(text)
		if err != nil {
			return u, yurt.FieldErrorf(yurt.CodeInvalidArgument, "ulimits."+name, "%w", err)
		}
		switch name {
		case "nofile":
			u.NoFile = int(size)
		case "fsize":
			u.FSize = size
		case "stack":
			u.Stack = size
		default:
			return u, yurt.FieldErrorf(yurt.CodeInvalidArgument, "ulimits."+name, "there is no such limit; there are nofile, fsize and stack")
		}
	}
	return u, u.Validate("ulimits")
}

// usualShares are the shares of a weight of 100, as in cgroups.
const usualShares = 1024

// weight is the task's share of the processors beside others.
func weight(linux *drivers.LinuxResources) int {
	shares := linux.GetCpuShares()
	if shares <= 0 {
		return 0
	}
	return int(max(1, min(yurt.MaxCPUWeight, shares*100/usualShares)))
}
