package yurtcluster

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Leads reports whether a controller, by its place in Controllers, says that it leads.
func (c *Cluster) Leads(t *testing.T, n int) bool {
	t.Helper()
	return c.Tells(t, n, "yurt_controller_leads 1")
}

// Tells reports whether that line is among a controller's metrics.
func (c *Cluster) Tells(t *testing.T, n int, line string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, c.Controllers[n].URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "\n"+line+"\n")
}
