package se

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
)

// Unknown returns the path of the API, and the handler of requests below it that are for no operation. The handler only
// answers with an error, in the form of the others.
func (a *API) Unknown() (path string, handler http.Handler) {
	mux := http.NewServeMux()
	handlers := a.handlers()
	for pattern, handler := range handlers {
		mux.Handle(pattern, handler)
	}
	operations := strings.Join(slices.Sorted(maps.Keys(handlers)), ", ")
	operations = strings.ReplaceAll(operations, prefix+"/", "")
	return prefix + "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods := methodsOf(mux, r)
		if methods == "" {
			a.write(w, r, nil, yurt.Errorf(yurt.CodeNotFound, "there is no operation at this path; below %s there are %s", prefix, operations))
			return
		}
		w.Header().Set("Allow", methods)
		a.write(w, r, nil, yurt.Errorf(yurt.CodeMethodNotAllowed, "this path does not take the method of the request; use %s", methods))
	})
}

// methodsOf returns the methods that operations at the path of a request have.
func methodsOf(mux *http.ServeMux, r *http.Request) string {
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "" {
			methods = append(methods, method)
		}
	}
	return strings.Join(methods, ", ")
}
