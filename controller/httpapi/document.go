package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

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
