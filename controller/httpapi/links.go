package httpapi

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// linkSource is an answer that has names which other operations take in their paths.
type linkSource struct {
	operation, status string
	below             string            // the paths that take the names
	names             map[string]string // expressions, by parameter
}

func linkSources() []linkSource {
	const sessions = prefix + "/sessions/{id}"
	ofSession := map[string]string{"id": "$response.body#/id"}
	ofExecution := map[string]string{
		"id": "$response.body#/session_id", "execution_id": "$response.body#/execution_id",
		"name": "$request.body#/context", // of the requests that have one
	}
	ofTemplate := map[string]string{"id": "$response.body#/name", "template": "$response.body#/name"}
	return []linkSource{
		{"create-session", "201", sessions, ofSession},
		{"create-session", "200", sessions, ofSession},
		{"pause-session", "200", sessions + "/resume", ofSession},
		{"execute", "200", sessions, ofExecution},
		{"execute", "202", sessions, ofExecution},
		{"list-contexts", "200", sessions + "/contexts/", map[string]string{"id": "$request.path.id", "name": "$response.body#/contexts/0/name"}},
		{"list-processes", "200", sessions + "/processes/", map[string]string{"id": "$request.path.id", "pid": "$response.body#/processes/0/pid"}},
		{"put-file", "201", sessions + "/files/", map[string]string{"id": "$request.path.id", "path": "$response.body#/path"}},
		{"create-template", "201", prefix + "/templates/", ofTemplate},
		{"create-template", "201", prefix + "/pools/", ofTemplate},
		{"list-containers", "200", prefix + "/containers/", map[string]string{"id": "$response.body#/containers/0/id"}},
		{"list-nodes", "200", prefix + "/nodes/", map[string]string{"node": "$response.body#/nodes/0/name"}},
	}
}

// addLinks says in the document which operations can follow an answer, and where their names are
// in it.
func (a *API) addLinks() {
	paths := a.huma.OpenAPI().Paths
	sources := map[string]*huma.Operation{}
	for _, item := range paths {
		for _, op := range operationsOf(item) {
			sources[op.OperationID] = op
		}
	}
	for _, source := range linkSources() {
		answer := sources[source.operation].Responses[source.status]
		if answer.Links == nil {
			answer.Links = map[string]*huma.Link{}
		}
		for path, item := range paths {
			parameters, all := source.parameters(path)
			if !all || !strings.HasPrefix(path, source.below) {
				continue
			}
			for _, op := range operationsOf(item) {
				if op.OperationID != source.operation {
					answer.Links[op.OperationID] = &huma.Link{OperationID: op.OperationID, Parameters: parameters}
				}
			}
		}
	}
}

// parameters returns the expressions for a path, and whether there is one for each of its names.
func (s linkSource) parameters(path string) (map[string]any, bool) {
	parameters := map[string]any{}
	for segment := range strings.SplitSeq(path, "/") {
		name, is := strings.CutPrefix(segment, "{")
		if !is {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		expression, has := s.names[name]
		if !has {
			return nil, false
		}
		parameters[name] = expression
	}
	return parameters, len(parameters) > 0
}
