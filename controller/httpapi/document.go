package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// handleDocument completes the OpenAPI document, and serves it.
func (a *API) handleDocument() error {
	a.declareBounds()
	a.completeSchemas()
	a.addSamples()
	a.addLinks()
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel") // huma's own, which is never sent: see transformError
	delete(schemas, "ErrorDetail")
	text, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	var document map[string]json.RawMessage
	if err := json.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("reading the OpenAPI document again: %w", err)
	}
	a.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		writeDocument(w, r, document)
	})
	return nil
}

// writeDocument answers with the document. Its server is the one that was asked, by the name that
// the client used, so that a request of the documentation can be copied as it stands.
func writeDocument(w http.ResponseWriter, r *http.Request, document map[string]json.RawMessage) {
	whole := make(map[string]any, len(document)+1)
	for name, part := range document {
		whole[name] = part
	}
	whole["servers"] = []*huma.Server{{URL: originOf(r)}}
	w.Header().Set("Content-Type", "application/openapi+json")
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
