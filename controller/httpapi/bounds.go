package httpapi

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
)

// Patterns that texts in a body match. The domain and the parser of templates enforce the same
// rules, with messages that say more than a pattern does.
const (
	printable    = `^[^\x00-\x1f\x7f-\x9f]*$`
	withoutNUL   = `^[^\x00]*$`
	envName      = `^[^=\s\x00-\x1f\x7f-\x9f]+$`
	templateName = `^[a-z0-9][a-z0-9-]{0,62}$`
	packageName  = `^[^-\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$`
	moduleName   = `^[^.\s\x00-\x1f\x7f-\x9f][^\s\x00-\x1f\x7f-\x9f]*$`
	imageName    = `^[!-~]*$`
	notBlank     = `\S`
	shellLine    = `^[^\x00]*[^\x00\s][^\x00]*$`
	inBase64     = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`

	maxTextBytes = 2048 // of the description of a template
	maxNames     = 32   // runtimes, and modules to preload, of a template
	maxHostPaths = 64
)

// bound completes the schema of one member of a body with its enforced bounds.
type bound func(*huma.Schema)

// declareBounds documents the enforced bounds of the members of bodies. It changes no request: huma does not validate
// bodies, see register.
func (a *API) declareBounds() {
	schemas := a.huma.OpenAPI().Components.Schemas
	narrow(schemas, schemaOf[createSessionBody](a, "CreateSession"), map[string]bound{
		"agent_id": text(0, yurt.MaxNameBytes, printable),
		"timeout":  lifetime(), "idle_timeout": lifetime(),
		"env": env(), "files": files(),
		"metadata": entries(yurt.MaxMetadata, text(1, yurt.MaxMetadataKeyBytes, printable), text(0, yurt.MaxMetadataValueBytes, printable)),
	})
	narrow(schemas, schemaOf[resourcesBody](a, "Resources"), resources("", number))
	narrow(schemas, schemaOf[executeBody](a, "Execute"), map[string]bound{
		"code": text(0, yurt.MaxCodeBytes, ""), "language": text(0, yurt.MaxNameBytes, printable),
		"handler": text(0, yurt.MaxNameBytes, printable),
		"files":   files(), "entry": text(0, yurt.MaxPathBytes, printable), "cwd": text(0, yurt.MaxPathBytes, printable),
		"args":         list(yurt.MaxArgs, text(0, 0, withoutNUL)),
		"dependencies": dependencies(),
		"stdin":        text(0, yurt.MaxStdinBytes, ""), "env": env(),
		"timeout":      number(yurt.MinExecutionTimeout.Seconds(), yurt.MaxExecutionTimeout.Seconds()),
		"output_limit": outputLimit(number),
	})
	for _, question := range []*huma.Schema{schemaOf[questionBody](a, "Question"), schemaOf[inspectBody](a, "InspectQuestion")} {
		narrow(schemas, question, map[string]bound{
			"code": text(0, yurt.MaxQuestionBytes, ""), "language": text(0, yurt.MaxNameBytes, printable),
			"timeout": questionTimeout(),
		})
	}
	narrow(schemas, schemaOf[timeoutBody](a, "Timeout"), map[string]bound{"timeout": lifetime(), "idle_timeout": lifetime()})
	narrow(schemas, schemaOf[stdinBody](a, "Stdin"), map[string]bound{"data": text(0, yurt.MaxStdinBytes, ""), "data_base64": text(0, 0, inBase64)})
	narrow(schemas, schemaOf[filePatch](a, "FilePatch"), map[string]bound{"path": text(0, yurt.MaxPathBytes, printable)})
	narrow(schemas, schemaOf[archiveRequest](a, "ArchiveRequest"), map[string]bound{"path": text(0, yurt.MaxPathBytes, printable)})
}

// templateBounds are those of a template as it is sent, where zero stands for the default.
func templateBounds() map[string]bound {
	bounds := resources("resources.", numberOrZero)
	lifetime := numberOrZero(yurt.MinSessionTimeout.Seconds(), yurt.MaxSessionTimeout.Seconds())
	for path, b := range map[string]bound{
		"name": text(1, 0, templateName), "description": text(0, maxTextBytes, `^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$`),
		"rootfs.host_paths": list(maxHostPaths, text(1, yurt.MaxPathBytes, `^/[^\x00-\x1f\x7f-\x9f]*$`)),
		"rootfs.image":      text(0, yurt.MaxImageBytes, imageName),
		"runtimes":          list(maxNames, text(1, 0, templateName)),
		"env":               env(),
		"dependencies":      entries(0, text(1, 0, templateName), dependencies()),
		"kernels":           entries(0, text(1, 0, templateName), text(1, 0, templateName)),
		"preload":           list(maxNames, text(1, 128, moduleName)),
		"isolation.level":   oneOf("", string(yurt.IsolationNamespaces)),

		"isolation.system_calls": list(len(yurt.SystemCallGroups()), oneOf(yurt.SystemCallGroups()...)),
		"network.mode":           oneOf("", string(yurt.NetworkNone)),
		"session.timeout":        lifetime, "session.idle_timeout": lifetime,
		"session.execution_timeout": numberOrZero(yurt.MinExecutionTimeout.Seconds(), yurt.MaxExecutionTimeout.Seconds()),
		"session.output_limit":      outputLimit(numberOrZero),
		"warm_pool.min":             number(0, yurt.MaxPool), "warm_pool.max": number(0, yurt.MaxPool),
		"warm_pool.idle_timeout": lifetime,
		"resources.disk_kind":    oneOf("", string(yurt.DiskMemory), string(yurt.DiskImage), string(yurt.DiskQuota)),
	} {
		bounds[path] = b
	}
	return bounds
}

// resources returns the bounds of [yurt.Resources], each made by within, below a path.
func resources(path string, within func(least, most float64) bound) map[string]bound {
	return map[string]bound{
		path + "cpu":    within(yurt.MinCPU, yurt.MaxCPU),
		path + "memory": within(yurt.MinMemory, yurt.MaxMemory), path + "disk": within(yurt.MinDisk, yurt.MaxDisk),
		path + "pids": within(yurt.MinPIDs, yurt.MaxPIDs), path + "io_weight": within(yurt.MinIOWeight, yurt.MaxIOWeight),
		path + "ulimits.nofile": within(yurt.MinNoFile, yurt.MaxNoFile),
		path + "ulimits.fsize":  within(yurt.MinFSize, yurt.MaxFSize), path + "ulimits.stack": within(yurt.MinStack, yurt.MaxStack),
	}
}

// narrow applies bounds to the members of an object, by their paths in it.
func narrow(schemas huma.Registry, object *huma.Schema, bounds map[string]bound) {
	for path, b := range bounds {
		member := object
		for name := range strings.SplitSeq(path, ".") {
			if member.Ref != "" {
				member = schemas.SchemaFromRef(member.Ref)
			}
			member = member.Properties[name]
		}
		b(member)
	}
}

// text bounds the length of a text; JSON Schema counts characters where the server counts bytes.
// With most 0 the pattern alone bounds it.
func text(least, most int, pattern string) bound {
	return func(s *huma.Schema) {
		s.Pattern = pattern
		if least > 0 {
			s.MinLength = &least
		}
		if most > 0 {
			s.MaxLength = &most
		}
	}
}

func oneOf(values ...string) bound {
	return func(s *huma.Schema) {
		s.Enum = nil
		for _, value := range values {
			s.Enum = append(s.Enum, value)
		}
	}
}

// numeric returns the alternatives of a schema that are numbers.
func numeric(s *huma.Schema) []*huma.Schema {
	var found []*huma.Schema
	for _, alternative := range append([]*huma.Schema{s}, s.OneOf...) {
		if alternative.Type == huma.TypeNumber || alternative.Type == huma.TypeInteger {
			found = append(found, alternative)
		}
	}
	return found
}

// number bounds a number. Its text form, in any unit, has the same bounds, which no pattern says.
func number(least, most float64) bound {
	return func(s *huma.Schema) {
		for _, n := range numeric(s) {
			n.Minimum, n.Maximum = &least, &most
		}
	}
}

// numberOrZero is number for a member whose zero stands for its default.
func numberOrZero(least, most float64) bound {
	return func(s *huma.Schema) {
		for _, n := range numeric(s) {
			n.AnyOf = []*huma.Schema{{Enum: []any{0}}, {Minimum: &least, Maximum: &most}}
		}
	}
}

func lifetime() bound {
	return number(yurt.MinSessionTimeout.Seconds(), yurt.MaxSessionTimeout.Seconds())
}

// questionTimeout has examples of its own, as those of other durations are beyond it.
func questionTimeout() bound {
	return func(s *huma.Schema) {
		number(yurt.MinQuestionTimeout.Seconds(), yurt.MaxQuestionTimeout.Seconds())(s)
		s.Examples = []any{yurt.QuestionTimeout.Seconds(), "3s"}
	}
}

// outputLimit has examples of its own, as those of other sizes are beyond it.
func outputLimit(within func(least, most float64) bound) bound {
	return func(s *huma.Schema) {
		within(1, yurt.MaxOutputLimit)(s)
		s.Examples = []any{yurt.DefaultOutputLimit, "8Mi"}
	}
}

// list bounds a list and its items. The items' schema may be that of another list too.
func list(most int, item bound) bound {
	return func(s *huma.Schema) {
		items := *s.Items
		item(&items)
		s.Items, s.MaxItems = &items, &most
	}
}

// entries bounds a map: how many entries it has, with 0 any number, their names and their values.
func entries(most int, name, value bound) bound {
	return func(s *huma.Schema) {
		if most > 0 {
			s.MaxProperties = &most
		}
		names := &huma.Schema{}
		name(names)
		s.Extensions = map[string]any{"propertyNames": names}
		if values, is := s.AdditionalProperties.(*huma.Schema); is && value != nil {
			own := *values
			value(&own)
			s.AdditionalProperties = &own
		}
	}
}

func env() bound {
	return entries(yurt.MaxEnvCount, text(1, yurt.MaxNameBytes, envName), text(0, yurt.MaxEnvBytes, withoutNUL))
}

func files() bound {
	return entries(yurt.MaxFiles, text(1, yurt.MaxPathBytes, printable), nil)
}

func dependencies() bound {
	return list(yurt.MaxDependencies, text(1, yurt.MaxDependencyBytes, packageName))
}
