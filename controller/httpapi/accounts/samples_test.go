package accounts_test

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestUsageSamples: samples of a tenant and a session come in while the server runs, and another tenant sees none of them.
func TestUsageSamples(t *testing.T) {
	w := newWorld(t)
	_, operator := w.key("default", access.Admin)
	_, acme := w.key("acme", access.SessionsRead, access.SessionsWrite)
	_, rival := w.key("rival", access.SessionsRead, access.SessionsWrite)
	request := yurtclient.CreateSessionRequest{TemplateID: "python-basic"}
	first, err := w.client(acme).CreateSession(t.Context(), request)
	must(t, err)
	_, err = w.client(acme).CreateSession(t.Context(), request)
	must(t, err)
	_, err = w.client(rival).CreateSession(t.Context(), request)
	must(t, err)
	mine := yurtclient.NewTenants(w.client(acme))
	var history access.UsageHistory
	for end := time.Now().Add(20 * time.Second); len(history.Samples) == 0 || history.Samples[len(history.Samples)-1].Sessions != 2; time.Sleep(20 * time.Millisecond) {
		history, err = mine.Samples(t.Context(), "")
		must(t, err)
		if time.Now().After(end) {
			t.Fatalf("the samples are %+v, want one of two sessions", history)
		}
	}
	last := history.Samples[len(history.Samples)-1]
	if history.Tenant != "acme" || last.Memory != 2<<20 || !last.At.Equal(last.At.Truncate(time.Duration(history.Resolution))) {
		t.Errorf("the history is of %q, and its last sample %+v", history.Tenant, last)
	}
	own, err := mine.SessionSamples(t.Context(), first.ID)
	if err != nil || len(own.Samples) == 0 || own.SessionID != first.ID || own.Samples[0].Memory != 1<<20 || own.Samples[0].Sessions != 1 {
		t.Errorf("the session's history is %+v, error %v", own, err)
	}
	theirs := yurtclient.NewTenants(w.client(rival))
	if _, err := theirs.SessionSamples(t.Context(), first.ID); yurt.CodeOf(err) != yurt.CodeSessionNotFound {
		t.Errorf("another tenant asks for the session's samples: %v", err)
	}
	if _, err := theirs.Samples(t.Context(), "acme"); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("another tenant asks for the tenant's samples: %v", err)
	}
	if seen, err := yurtclient.NewTenants(w.client(operator)).Samples(t.Context(), "acme"); err != nil || len(seen.Samples) == 0 {
		t.Errorf("the operator sees %+v, error %v", seen, err)
	}
}
