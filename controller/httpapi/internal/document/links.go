package document

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// linkSource is an answer that has names which other operations take in their paths.
type linkSource struct {
	operation, status string
	below             string            // the paths that take the names
	names             map[string]string // expressions or values, by parameter
	only              string            // the one operation of the paths that is linked, if not all are
}

func linkSources(prefix string) []linkSource {
	sessions := prefix + "/sessions/{id}"
	ofSession := map[string]string{"id": "$response.body#/id"}
	ofExecution := map[string]string{
		"id": "$response.body#/session_id", "execution_id": "$response.body#/execution_id",
		"name": "$request.body#/context", // of the requests that have one
	}
	ofTemplate := map[string]string{"id": "$response.body#/name", "template": "$response.body#/name"}
	return []linkSource{
		{operation: "create-session", status: "201", below: sessions, names: ofSession},
		{operation: "create-session", status: "200", below: sessions, names: ofSession},
		// A new session has no file that an answer could name.
		{operation: "create-session", status: "201", below: sessions + "/files/", names: map[string]string{"id": ofSession["id"], "path": "file.txt"}, only: "put-file"},
		{operation: "pause-session", status: "200", below: sessions + "/resume", names: ofSession},
		{operation: "execute", status: "200", below: sessions, names: ofExecution},
		{operation: "execute", status: "202", below: sessions, names: ofExecution},
		{operation: "list-contexts", status: "200", below: sessions + "/contexts/", names: map[string]string{"id": "$request.path.id", "name": "$response.body#/contexts/0/name"}},
		{operation: "list-processes", status: "200", below: sessions + "/processes/", names: map[string]string{"id": "$request.path.id", "pid": "$response.body#/processes/0/pid"}},
		{operation: "put-file", status: "201", below: sessions + "/files/", names: map[string]string{"id": "$request.path.id", "path": "$response.body#/path"}},
		{operation: "create-template", status: "201", below: prefix + "/templates/", names: ofTemplate},
		{operation: "create-template", status: "201", below: prefix + "/pools/", names: ofTemplate},
		{operation: "list-containers", status: "200", below: prefix + "/containers/", names: map[string]string{"id": "$response.body#/containers/0/id"}},
		{operation: "list-nodes", status: "200", below: prefix + "/nodes/", names: map[string]string{"node": "$response.body#/nodes/0/name"}},
	}
}

// AddLinks says in the document which operations can follow an answer, and where their names are in it. The paths of all
// operations begin with the prefix.
func AddLinks(of *huma.OpenAPI, prefix string) {
	paths := of.Paths
	sources := map[string]*huma.Operation{}
	for _, item := range paths {
		for _, op := range operationsOf(item) {
			sources[op.OperationID] = op
		}
	}
	for _, source := range linkSources(prefix) {
		operation := sources[source.operation]
		if operation == nil { // of an extension that this API does without
			continue
		}
		answer := operation.Responses[source.status]
		if answer.Links == nil {
			answer.Links = map[string]*huma.Link{}
		}
		for path, item := range paths {
			parameters, all := source.parameters(path)
			if !all || !strings.HasPrefix(path, source.below) {
				continue
			}
			for _, op := range operationsOf(item) {
				if op.OperationID != source.operation && (source.only == "" || source.only == op.OperationID) {
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
