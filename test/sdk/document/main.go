// Command document prints the OpenAPI document of the REST API, without the address of a server:
// the generators of the SDKs read it.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/accounts"
	"github.com/yurtrun/yurt/controller/httpapi/contexts"
	"github.com/yurtrun/yurt/controller/httpapi/fleet"
	"github.com/yurtrun/yurt/controller/quota"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "document:", err)
		os.Exit(1)
	}
}

func run() error {
	// The document describes the handlers, which are registered and never called: the controller can be empty.
	ctl, keys := new(controller.Controller), auth.NewKeys(nil, nil)
	api, err := httpapi.New(httpapi.Config{Controller: ctl, Version: "1", Extensions: []httpapi.Extension{
		accounts.Keys(keys), accounts.Tokens(keys, ctl), accounts.Audit(nil), accounts.Tenants(quota.NewTenants(nil)), accounts.Samples(nil),
		contexts.Operations(ctl), fleet.Operations(ctl),
	}})
	if err != nil {
		return err
	}
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	if answer.Code != http.StatusOK {
		return fmt.Errorf("the API answered %d: %s", answer.Code, answer.Body)
	}
	var document map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	delete(document, "servers")
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	return encoder.Encode(document)
}
