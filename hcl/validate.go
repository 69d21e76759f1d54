package hcl

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/yurtrun/yurt"
)

// NamePattern is the form of names of templates and of runtimes.
const NamePattern = "^[a-z0-9][a-z0-9-]{0,62}$"

// WithDefaults returns t with every field that is zero set to its default, and empty lists in place
// of nil ones, so that templates that mean the same are equal and have the same digest. It does not
// change the values that t refers to.
func WithDefaults(t yurt.Template) yurt.Template {
	t.RootFS.HostPaths = append([]string{}, t.RootFS.HostPaths...)
	if len(t.RootFS.HostPaths) == 0 && t.RootFS.Image == "" {
		t.RootFS.HostPaths = yurt.DefaultHostPaths()
	}
	t.Runtimes = append([]string{}, t.Runtimes...)
	t.Preload = slices.Clone(t.Preload)
	if len(t.Preload) == 0 {
		t.Preload = nil
	}
	t.Isolation.SystemCalls = slices.Clone(t.Isolation.SystemCalls)
	if len(t.Isolation.SystemCalls) == 0 {
		t.Isolation.SystemCalls = nil
	}
	slices.Sort(t.Isolation.SystemCalls)
	t.Env = maps.Clone(t.Env)
	if len(t.Env) == 0 {
		t.Env = nil
	}
	t.Dependencies = cleanDependencies(t.Dependencies)
	t.Kernels = maps.Clone(t.Kernels)
	if len(t.Kernels) == 0 {
		t.Kernels = nil
	}
	t.Resources = t.Resources.Or(yurt.DefaultResources())
	if t.Isolation.Level == "" {
		t.Isolation.Level = yurt.IsolationNamespaces
	}
	if t.Network.Mode == "" {
		t.Network.Mode = yurt.NetworkNone
	}
	limits := yurt.DefaultSessionLimits()
	t.Session.Timeout = orDefault(t.Session.Timeout, limits.Timeout)
	t.Session.IdleTimeout = orDefault(t.Session.IdleTimeout, limits.IdleTimeout)
	t.Session.ExecutionTimeout = orDefault(t.Session.ExecutionTimeout, limits.ExecutionTimeout)
	t.Session.OutputLimit = orDefault(t.Session.OutputLimit, limits.OutputLimit)
	t.WarmPool = t.WarmPool.Or()
	return t
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// Validate checks every field of a template; zero stands for the default, but for
// the name. It returns nil or an [*Error] with all that is wrong, by field. Both
// HCL and JSON are checked by this.
func Validate(t yurt.Template) error {
	var diags hcl.Diagnostics
	for _, fault := range faults(t) {
		diags = append(diags, fieldProblem(nil, fault))
	}
	if len(diags) == 0 {
		return nil
	}
	return newError(diags, nil)
}

// faults returns the problems of t, each with the path of its field.
func faults(t yurt.Template) []*yurt.Error {
	f := &faultList{}
	f.name("name", t.Name, "a template")
	f.description(t.Description)
	f.hostPaths(t.RootFS.HostPaths)
	f.image(t.RootFS)
	f.runtimes(t.Runtimes)
	f.env(t.Env)
	f.dependencies(t)
	f.kernels(t.Kernels, t.Runtimes)
	f.preload(t.Preload, t.Runtimes)
	f.resources(t.Resources)
	f.isolation(t.Isolation.Level)
	f.systemCalls(t.Isolation.SystemCalls)
	f.network(t.Network)
	f.session(t.Session)
	f.warmPool(t.WarmPool.Or())
	return f.found
}

// faultList collects the problems of a template.
type faultList struct {
	found []*yurt.Error
}

func (f *faultList) add(code yurt.Code, field, format string, args ...any) {
	f.found = append(f.found, yurt.FieldErrorf(code, field, format, args...))
}

// check adds err under field, if there is one.
func (f *faultList) check(field string, err error) {
	if err != nil {
		fault := asFault(err)
		fault.Field = field
		f.found = append(f.found, fault)
	}
}

func (f *faultList) name(field, name, whose string) {
	switch {
	case name == "":
		f.add(yurt.CodeInvalidArgument, field, "the name is empty; give one of lower-case letters, digits and \"-\"")
	case len(name) > maxNameBytes:
		f.add(yurt.CodeInvalidArgument, field, "the name has %d characters; at most %d are allowed", len(name), maxNameBytes)
	case !validName(name):
		f.add(yurt.CodeInvalidArgument, field, "%q is not a name for %s; use lower-case letters, digits and \"-\", beginning with a letter or a digit", name, whose)
	}
}

// validName reports whether name matches [NamePattern], without the cost of one.
func validName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return name != "" && name[0] != '-' && len(name) <= maxNameBytes
}

func (f *faultList) description(text string) {
	switch {
	case len(text) > MaxDescriptionBytes:
		f.add(yurt.CodeLimitOutOfRange, "description", "%d bytes are too many; at most %d are allowed", len(text), MaxDescriptionBytes)
	case !utf8.ValidString(text):
		f.add(yurt.CodeInvalidArgument, "description", "the text is not valid UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		f.add(yurt.CodeInvalidArgument, "description", "the text holds control characters; use printable ones")
	}
}

func (f *faultList) image(from yurt.RootFS) {
	switch {
	case from.Image == "":
	case len(from.HostPaths) > 0:
		f.add(yurt.CodeInvalidArgument, "rootfs.image", "a root file system is an image or paths of the host; leave one of them out")
	default:
		f.check("rootfs.image", yurt.ValidateImage("rootfs.image", from.Image))
	}
}

func (f *faultList) runtimes(names []string) {
	if len(names) > MaxRuntimes {
		f.add(yurt.CodeLimitOutOfRange, "runtimes", "%d runtimes are too many; at most %d are allowed", len(names), MaxRuntimes)
		return
	}
	seen := map[string]bool{}
	for i, name := range names {
		field := "runtimes" + index(i)
		f.name(field, name, "a runtime")
		if seen[name] {
			f.add(yurt.CodeInvalidArgument, field, "%q is in the list twice; keep one", name)
		}
		seen[name] = true
	}
}

// kernels checks names alone: which there are, the runtime knows.
func (f *faultList) kernels(kernels map[string]string, runtimes []string) {
	for _, name := range keysOf(kernels) {
		field := "kernels" + member(name)
		if !slices.Contains(runtimes, name) {
			f.add(yurt.CodeInvalidArgument, field, "%q is none of the template's runtimes; add it to those, or take its kernel away", name)
			continue
		}
		f.name(field, kernels[name], "a kernel")
	}
}

func (f *faultList) preload(modules, runtimes []string) {
	switch {
	case len(modules) > MaxPreload:
		f.add(yurt.CodeLimitOutOfRange, "preload", "%d modules are too many; at most %d are allowed", len(modules), MaxPreload)
		return
	case len(modules) > 0 && len(runtimes) == 0:
		f.add(yurt.CodeInvalidArgument, "preload", "modules are loaded by a runtime, and the template has none; name it in runtimes")
	}
	for i, name := range modules {
		if !validModule(name) {
			f.add(yurt.CodeInvalidArgument, "preload"+index(i), "%q is not the name of a module; use letters, digits, \"_\" and \".\"", name)
		}
	}
}

// validModule reports whether name can be that of a module.
func validModule(name string) bool {
	for _, r := range name {
		if r != '.' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != "" && len(name) <= maxModuleBytes && !strings.HasPrefix(name, ".")
}

func (f *faultList) env(env map[string]string) {
	before := len(f.found)
	if len(env) <= yurt.MaxEnvCount {
		for _, name := range keysOf(env) {
			f.check("env"+member(name), yurt.ValidateEnv("env", map[string]string{name: env[name]}))
			if !utf8.ValidString(env[name]) {
				f.add(yurt.CodeInvalidArgument, "env"+member(name), "the value is not valid UTF-8")
			}
		}
	}
	if len(f.found) == before {
		f.check("env", yurt.ValidateEnv("env", env))
	}
}

// resources asks the domain field by field, as it stops at the first fault.
func (f *faultList) resources(r yurt.Resources) {
	f.check("resources.cpu", yurt.Resources{CPU: r.CPU}.Validate(""))
	f.check("resources.memory", yurt.Resources{Memory: r.Memory}.Validate(""))
	f.check("resources.disk", yurt.Resources{Disk: r.Disk}.Validate(""))
	f.check("resources.pids", yurt.Resources{PIDs: r.PIDs}.Validate(""))
	f.check("resources.io_weight", yurt.Resources{IOWeight: r.IOWeight}.Validate(""))
	f.check("resources.disk_kind", yurt.Resources{DiskKind: r.DiskKind}.Validate(""))
	if r.DiskKind == yurt.DiskImage && r.Disk >= yurt.MinDisk {
		f.check("resources.disk", yurt.Resources{DiskKind: r.DiskKind, Disk: r.Disk}.Validate(""))
	}
	f.check("resources.ulimits.nofile", yurt.Ulimits{NoFile: r.Ulimits.NoFile}.Validate(""))
	f.check("resources.ulimits.fsize", yurt.Ulimits{FSize: r.Ulimits.FSize}.Validate(""))
	f.check("resources.ulimits.stack", yurt.Ulimits{Stack: r.Ulimits.Stack}.Validate(""))
}

func (f *faultList) isolation(level yurt.IsolationLevel) {
	switch level {
	case "", yurt.IsolationNamespaces:
	case "gvisor":
		f.notYet("isolation.level", string(level), string(yurt.IsolationNamespaces))
	default:
		f.add(yurt.CodeInvalidArgument, "isolation.level", "%q is not an isolation level; give %q", level, yurt.IsolationNamespaces)
	}
}

func (f *faultList) systemCalls(groups []string) {
	for i, name := range groups {
		field := "isolation.system_calls" + index(i)
		switch {
		case !slices.Contains(yurt.SystemCallGroups(), name):
			f.add(yurt.CodeInvalidArgument, field, "%q is no group of system calls; give %s", name, strings.Join(yurt.SystemCallGroups(), " or "))
		case slices.Contains(groups[:i], name):
			f.add(yurt.CodeInvalidArgument, field, "%q is named twice", name)
		}
	}
}

func (f *faultList) network(n yurt.Network) {
	switch n.Packages {
	case "", yurt.PackagesRegistries, yurt.PackagesNone:
	default:
		f.add(yurt.CodeInvalidArgument, "network.packages", "%q says nothing about packages; give %q, or %q for none", n.Packages, yurt.PackagesRegistries, yurt.PackagesNone)
	}
	switch mode := n.Mode; mode {
	case "", yurt.NetworkNone:
	case "egress", "bridge", "host":
		f.notYet("network.mode", string(mode), string(yurt.NetworkNone))
	default:
		f.add(yurt.CodeInvalidArgument, "network.mode", "%q is not a network mode; give %q", mode, yurt.NetworkNone)
	}
}

func (f *faultList) notYet(field, given, instead string) {
	f.add(yurt.CodeNotSupported, field, "%q is not supported yet by this version of Yurt; give %q, or leave it out", given, instead)
}

func (f *faultList) session(s yurt.SessionLimits) {
	limits := yurt.DefaultSessionLimits()
	f.check("session.timeout", yurt.ValidateSessionTimeouts(orDefault(s.Timeout, limits.Timeout), limits.IdleTimeout))
	f.check("session.idle_timeout", yurt.ValidateSessionTimeouts(limits.Timeout, orDefault(s.IdleTimeout, limits.IdleTimeout)))
	if d := orDefault(s.ExecutionTimeout, limits.ExecutionTimeout); d.Std() < yurt.MinExecutionTimeout || d.Std() > yurt.MaxExecutionTimeout {
		f.add(yurt.CodeLimitOutOfRange, "session.execution_timeout", "%s is out of range; give %s to %s", d, yurt.Duration(yurt.MinExecutionTimeout), yurt.Duration(yurt.MaxExecutionTimeout))
	}
	if s.OutputLimit < 0 || s.OutputLimit > yurt.MaxOutputLimit {
		f.add(yurt.CodeLimitOutOfRange, "session.output_limit", "%s is out of range; give 1 to %s", s.OutputLimit, yurt.Size(yurt.MaxOutputLimit))
	}
}

func (f *faultList) warmPool(p yurt.WarmPool) {
	if p == (yurt.WarmPool{}) {
		return
	}
	if p.Min < 0 || p.Min > yurt.MaxPool {
		f.add(yurt.CodeLimitOutOfRange, "warm_pool.min", "%d is out of range; give 1 to %d, or leave it out for none", p.Min, yurt.MaxPool)
	}
	if p.Max < max(1, p.Min) || p.Max > yurt.MaxPool {
		f.add(yurt.CodeLimitOutOfRange, "warm_pool.max", "%d is out of range; give %d, which is the least it keeps, to %d", p.Max, max(1, p.Min), yurt.MaxPool)
	}
	if p.IdleTimeout.Std() < time.Second || p.IdleTimeout.Std() > yurt.MaxSessionTimeout {
		f.add(yurt.CodeLimitOutOfRange, "warm_pool.idle_timeout", "%s is out of range; give 1s to %s", p.IdleTimeout, yurt.Duration(yurt.MaxSessionTimeout))
	}
}
