package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi/internal/bounds"
	"github.com/yurtrun/yurt/controller/httpapi/internal/compress"
	"github.com/yurtrun/yurt/controller/httpapi/internal/document"
)

// handleDocument completes the OpenAPI document, and serves it.
func (a *API) handleDocument() error {
	a.declareBounds()
	document.AllowNulls(a.huma.OpenAPI(), a.bodySchemas)
	document.AddSamples(a.huma.OpenAPI(), a.samples, textSample)
	document.AddLinks(a.huma.OpenAPI(), prefix)
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel") // huma's own, which is never sent: see transformError
	delete(schemas, "ErrorDetail")
	text, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return fmt.Errorf("reading the OpenAPI document again: %w", err)
	}
	a.mux.Handle("GET /openapi.json", compress.New(typeDocument)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeDocument(w, r, whole)
	})))
	return nil
}

// writeDocument answers with the document. Its server is the one that was asked, by the name that
// the client used, so that a request of the documentation can be copied as it stands.
func writeDocument(w http.ResponseWriter, r *http.Request, parts map[string]json.RawMessage) {
	whole := make(map[string]any, len(parts)+1)
	for name, part := range parts {
		whole[name] = part
	}
	whole["servers"] = []*huma.Server{{URL: originOf(r)}}
	w.Header().Set("Content-Type", typeDocument)
	_ = writeJSON(w, whole) // a client that left needs no error
}

// originOf returns the address that a request was sent to. A proxy in front that speaks TLS says so
// by X-Forwarded-Proto.
func originOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// textSample is a body of a type other than JSON.
func textSample(kind string) any {
	switch kind {
	case typeHCL:
		return "template \"python-tall\" {\n  extends = \"python-basic\"\n  resources {\n    memory = \"1Gi\"\n  }\n}\n"
	case typeText:
		return "template \"shell-small\" {\n  extends = \"shell-basic\"\n  resources {\n    memory = \"64Mi\"\n  }\n}\n"
	case typeOctetStream:
		return "a,b\n1,2\n"
	default:
		return nil // a tar archive is no text
	}
}

// Patterns that texts in a body match. The domain and the parser of templates enforce the same
// rules, with messages that say more than a pattern does.
const (
	envName      = `^[^=\s\x00-\x1f\x7f-\x9f]+$`
	templateName = `^[a-z0-9][a-z0-9-]{0,62}$`
	packageName  = `^[^-\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$`
	moduleName   = `^[^.\s\x00-\x1f\x7f-\x9f][^\s\x00-\x1f\x7f-\x9f]*$`
	imageName    = `^[!-~]*$`
	notBlank     = `\S`

	maxTextBytes = 2048 // of the description of a template
	maxNames     = 32   // runtimes, and modules to preload, of a template
	maxHostPaths = 64
)

// declareBounds documents the enforced bounds of the members of bodies. It changes no request: huma does not validate
// bodies, see register.
func (a *API) declareBounds() {
	schemas := a.huma.OpenAPI().Components.Schemas
	bounds.Narrow(schemas, schemaOf[createSessionBody](a, "CreateSession"), map[string]bounds.Bound{
		"agent_id": bounds.Text(0, yurt.MaxNameBytes, bounds.Printable),
		"timeout":  lifetime(), "idle_timeout": lifetime(),
		"env": env(), "files": files(),
		"metadata": bounds.Entries(yurt.MaxMetadata, bounds.Text(1, yurt.MaxMetadataKeyBytes, bounds.Printable), bounds.Text(0, yurt.MaxMetadataValueBytes, bounds.Printable)),
	})
	bounds.Narrow(schemas, schemaOf[resourcesBody](a, "Resources"), resources("", bounds.Number))
	bounds.Narrow(schemas, schemaOf[executeBody](a, "Execute"), map[string]bounds.Bound{
		"code": bounds.Text(0, yurt.MaxCodeBytes, ""), "language": bounds.Text(0, yurt.MaxNameBytes, bounds.Printable),
		"handler": bounds.Text(0, yurt.MaxNameBytes, bounds.Printable),
		"files":   files(), "entry": bounds.Text(0, yurt.MaxPathBytes, bounds.Printable), "cwd": bounds.Text(0, yurt.MaxPathBytes, bounds.Printable),
		"args":         bounds.List(yurt.MaxArgs, bounds.Text(0, 0, bounds.WithoutNUL)),
		"dependencies": dependencies(),
		"stdin":        bounds.Text(0, yurt.MaxStdinBytes, ""), "env": env(),
		"timeout":      bounds.Number(yurt.MinExecutionTimeout.Seconds(), yurt.MaxExecutionTimeout.Seconds()),
		"output_limit": outputLimit(bounds.Number),
	})
	bounds.Narrow(schemas, schemaOf[timeoutBody](a, "Timeout"), map[string]bounds.Bound{"timeout": lifetime(), "idle_timeout": lifetime()})
	bounds.Narrow(schemas, schemaOf[stdinBody](a, "Stdin"), map[string]bounds.Bound{"data": bounds.Text(0, yurt.MaxStdinBytes, ""), "data_base64": bounds.Text(0, 0, bounds.Base64)})
	bounds.Narrow(schemas, schemaOf[filePatch](a, "FilePatch"), map[string]bounds.Bound{"path": bounds.Text(0, yurt.MaxPathBytes, bounds.Printable)})
	bounds.Narrow(schemas, schemaOf[archiveRequest](a, "ArchiveRequest"), map[string]bounds.Bound{"path": bounds.Text(0, yurt.MaxPathBytes, bounds.Printable)})
}

// templateBounds are those of a template as it is sent, where zero stands for the default.
func templateBounds() map[string]bounds.Bound {
	all := resources("resources.", bounds.NumberOrZero)
	lifetime := bounds.NumberOrZero(yurt.MinSessionTimeout.Seconds(), yurt.MaxSessionTimeout.Seconds())
	for path, b := range map[string]bounds.Bound{
		"name": bounds.Text(1, 0, templateName), "description": bounds.Text(0, maxTextBytes, `^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$`),
		"rootfs.host_paths": bounds.List(maxHostPaths, bounds.Text(1, yurt.MaxPathBytes, `^/[^\x00-\x1f\x7f-\x9f]*$`)),
		"rootfs.image":      bounds.Text(0, yurt.MaxImageBytes, imageName),
		"runtimes":          bounds.List(maxNames, bounds.Text(1, 0, templateName)),
		"env":               env(),
		"dependencies":      bounds.Entries(0, bounds.Text(1, 0, templateName), dependencies()),
		"kernels":           bounds.Entries(0, bounds.Text(1, 0, templateName), bounds.Text(1, 0, templateName)),
		"preload":           bounds.List(maxNames, bounds.Text(1, 128, moduleName)),
		"isolation.level":   bounds.OneOf("", string(yurt.IsolationNamespaces)),

		"isolation.system_calls": bounds.List(len(yurt.SystemCallGroups()), bounds.OneOf(yurt.SystemCallGroups()...)),
		"network.mode":           bounds.OneOf("", string(yurt.NetworkNone)),
		"network.packages":       bounds.OneOf("", string(yurt.PackagesRegistries), string(yurt.PackagesNone)),
		"session.timeout":        lifetime, "session.idle_timeout": lifetime,
		"session.execution_timeout": bounds.NumberOrZero(yurt.MinExecutionTimeout.Seconds(), yurt.MaxExecutionTimeout.Seconds()),
		"session.output_limit":      outputLimit(bounds.NumberOrZero),
		"warm_pool.min":             bounds.Number(0, yurt.MaxPool), "warm_pool.max": bounds.Number(0, yurt.MaxPool),
		"warm_pool.idle_timeout": lifetime,
		"resources.disk_kind":    bounds.OneOf("", string(yurt.DiskMemory), string(yurt.DiskImage), string(yurt.DiskQuota)),
	} {
		all[path] = b
	}
	return all
}

// resources returns the bounds of [yurt.Resources], each made by within, below a path.
func resources(path string, within func(least, most float64) bounds.Bound) map[string]bounds.Bound {
	return map[string]bounds.Bound{
		path + "cpu":    within(yurt.MinCPU, yurt.MaxCPU),
		path + "memory": within(yurt.MinMemory, yurt.MaxMemory), path + "disk": within(yurt.MinDisk, yurt.MaxDisk),
		path + "pids": within(yurt.MinPIDs, yurt.MaxPIDs), path + "io_weight": within(yurt.MinIOWeight, yurt.MaxIOWeight),
		path + "ulimits.nofile": within(yurt.MinNoFile, yurt.MaxNoFile),
		path + "ulimits.fsize":  within(yurt.MinFSize, yurt.MaxFSize), path + "ulimits.stack": within(yurt.MinStack, yurt.MaxStack),
	}
}

func lifetime() bounds.Bound {
	return bounds.Number(yurt.MinSessionTimeout.Seconds(), yurt.MaxSessionTimeout.Seconds())
}

// outputLimit has examples of its own, as those of other sizes are beyond it.
func outputLimit(within func(least, most float64) bounds.Bound) bounds.Bound {
	return func(s *huma.Schema) {
		within(1, yurt.MaxOutputLimit)(s)
		s.Examples = []any{yurt.DefaultOutputLimit, "8Mi"}
	}
}

func env() bounds.Bound {
	return bounds.Entries(yurt.MaxEnvCount, bounds.Text(1, yurt.MaxNameBytes, envName), bounds.Text(0, yurt.MaxEnvBytes, bounds.WithoutNUL))
}

func files() bounds.Bound {
	return bounds.Entries(yurt.MaxFiles, bounds.Text(1, yurt.MaxPathBytes, bounds.Printable), nil)
}

func dependencies() bounds.Bound {
	return bounds.List(yurt.MaxDependencies, bounds.Text(1, yurt.MaxDependencyBytes, packageName))
}
