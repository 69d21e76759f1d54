package document

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Sample is a body of a request that works as it stands.
type Sample struct {
	Name  string // in the document
	Title string
	Value any
}

// Samples returns the JSON bodies that the page of the documentation shows, by operation. The
// page shows the one whose name is first in the alphabet until its reader chooses another.
func Samples() map[string][]Sample {
	type object = map[string]any
	only := func(title string, value object) []Sample { return []Sample{{"sample", title, value}} }
	return map[string][]Sample{
		"create-session": {
			{"minimal", "A session with all languages of the host", object{"template_id": "default"}},
			{"with-limits", "With limits, files and an environment", object{
				"template_id": "default", "mode": "persistent", "timeout": "1h", "idle_timeout": "10m",
				"resources": object{"cpu": 0.5, "memory": "256Mi"}, "env": object{"LANG": "C.UTF-8"},
				"metadata": object{"task": "report"}, "files": object{"data/input.csv": "a,b\n1,2\n"},
			}},
		},
		"execute": {
			{"code", "Code in a language", object{"code": "print(6 * 7)", "language": "python"}},
			{"command", "A line for the shell", object{"command": "ls -l | wc -l"}},
			{"handler", "A handler, called with an event", object{
				"code": "def handler(event):\n    return {\"sum\": sum(event[\"numbers\"])}", "language": "python",
				"handler": "handler", "event": object{"numbers": []int{1, 2, 3}},
			}},
			{"project", "A project of several files", object{
				"files": object{"main.py": "import lib; print(lib.answer)", "lib.py": "answer = 42"},
				"entry": "main.py", "language": "python",
			}},
			{"in-background", "In the background", object{"command": []string{"sleep", "1"}, "async": true}},
		},
		"write-stdin":         only("A line of text", object{"data": "hello\n"}),
		"signal-execution":    only("An interrupt, like Ctrl-C", object{"signal": "SIGINT"}),
		"signal-process":      only("A request to end", object{"signal": "SIGTERM"}),
		"resize-execution":    only("A larger terminal", object{"rows": 40, "cols": 120}),
		"set-session-timeout": only("Two hours in all", object{"timeout": "2h"}),
		"change-file":         only("Another name", object{"path": "data/old.csv", "overwrite": true}),
		"archive-files":       only("A directory to pack", object{"path": "data"}),
		"replace-template": only("Python with more memory", object{
			"name": "python-large", "runtimes": []string{"python"}, "resources": object{"memory": "2Gi"},
		}),
		"push-templates": only("Two templates", object{"templates": []object{
			{"name": "tests", "runtimes": []string{"python"}},
			{"name": "builds", "runtimes": []string{"bash"}, "resources": object{"memory": "1Gi"}},
		}}),
		"create-template": only("Python with more memory", object{
			"name": "python-large", "runtimes": []string{"python"}, "resources": object{"memory": "1Gi"},
		}),
	}
}

// AddSamples puts samples into the document: those of JSON by operation, and one of each other type of bodies.
func AddSamples(of *huma.OpenAPI, samples map[string][]Sample, other func(contentType string) any) {
	for _, item := range of.Paths {
		for _, op := range operationsOf(item) {
			if op.RequestBody == nil {
				continue
			}
			for kind, media := range op.RequestBody.Content {
				if kind != "application/json" {
					media.Example = other(kind)
					continue
				}
				media.Examples = map[string]*huma.Example{}
				for _, s := range samples[op.OperationID] {
					media.Examples[s.Name] = &huma.Example{Summary: s.Title, Value: s.Value}
				}
			}
		}
	}
}

// operationsOf returns the operations of one path, by method.
func operationsOf(item *huma.PathItem) map[string]*huma.Operation {
	all := map[string]*huma.Operation{}
	for method, op := range map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPut: item.Put, http.MethodPost: item.Post,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	} {
		if op != nil {
			all[method] = op
		}
	}
	return all
}
