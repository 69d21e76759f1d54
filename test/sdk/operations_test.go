package sdk

import (
	"io"
	"maps"
	"net/http"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestDocumentIsThatOfTheServer: the generators of the SDKs read the operations that a server has.
func TestDocumentIsThatOfTheServer(t *testing.T) {
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/openapi.json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if served, told := operationsOf(t, text), operations(t); !maps.Equal(served, told) {
		t.Errorf("a server has the operations %v, and test/sdk/document prints %v; expected the same", served, told)
	}
}
