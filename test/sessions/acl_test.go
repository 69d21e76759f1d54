package sessions

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/jobspecs"
	"github.com/yurtrun/yurt/test/testutil"
)

// operator is the token of the cluster's operator, once Nomad asks for one.
const operator = "2b778dd9-f5f1-6f29-b4b4-9a5fa948757a"

// turnACLsOn starts the agents of Nomad again, so that they ask for tokens, and gives the
// controllers' job the policy that its head says.
func turnACLsOn(t *testing.T, w *world) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go bootstrap(ctx, w.Nomad.Servers[0].API)
	for _, agent := range slices.Concat(w.Nomad.Servers, w.Nomad.Clients) {
		agent.API.SetSecretID(operator)
	}
	configure(t, w, "acl.hcl", "acl { enabled = true }\n")
	if _, _, err := nobody(t, w).Jobs().List(nil); err == nil {
		t.Error("Nomad answers whoever asks")
	}
	_, rules, found := strings.Cut(jobspecs.Controller(), "<<POLICY\n")
	rules, _, closed := strings.Cut(rules, "#     POLICY")
	if !found || !closed {
		t.Fatal("the head of the job has no policy")
	}
	policy := &nomad.ACLPolicy{
		Name: "yurt-controller", Rules: strings.ReplaceAll(rules, "#     ", ""),
		JobACL: &nomad.JobACL{Namespace: nomad.DefaultNamespace, JobID: "yurt-controller"},
	}
	testutil.Eventually(t, "the policy is there", func() bool {
		_, err := w.Nomad.API.ACLPolicies().Upsert(policy, nil)
		return err == nil
	})
}

// configure starts the agents of Nomad again, with one more file of configuration.
func configure(t *testing.T, w *world, name, config string) {
	t.Helper()
	for _, agent := range slices.Concat(w.Nomad.Servers, w.Nomad.Clients) {
		if err := agent.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(agent.Dir, "config", name), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := agent.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, client := range w.Nomad.Clients {
		if err := client.WaitDriver(t.Context(), "yurt"); err != nil {
			t.Fatal(err)
		}
	}
}

// bootstrap makes the operator's token as soon as there is a leader to do so.
func bootstrap(ctx context.Context, api *nomad.Client) {
	for ctx.Err() == nil {
		_, _, err := api.ACLTokens().BootstrapOpts(operator, (&nomad.WriteOptions{}).WithContext(ctx))
		if err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// nobody is a client without a token.
func nobody(t *testing.T, w *world) *nomad.Client {
	t.Helper()
	client, err := nomad.NewClient(&nomad.Config{Address: w.Nomad.Servers[0].Address})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
