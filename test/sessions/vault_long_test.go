//go:build long

package sessions

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/pgserver"
	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// clusterPage is the page that says how Vault is set up, which is done here as it is written.
const clusterPage = "docs/CLUSTER.md"

// TestSecretsInVault runs controllers by the job that ships, with their secrets in Vault: they wait, and say for which,
// until they are allowed to have them and they are there; go on while it is sealed; and have new ones when these have
// changed.
func TestSecretsInVault(t *testing.T) {
	t.Parallel() // Nomad reads a secret again only after minutes
	vault := cluster.Vault(t)
	w := &world{Cluster: yurtcluster.Test(t, yurtcluster.Options{})}
	stopControllers(t, w)
	config := readme.BlockOf(t, clusterPage, "hcl", "jwt_auth_backend_path") + readme.BlockOf(t, clusterPage, "hcl", "vault_retry")
	configure(t, w, "vault.hcl", replaced(t, config, "https://vault.example.org:8200", vault.Address))
	store := pgserver.Start(t).Database()
	inVault := map[string]string{"vault": "secret/data/yurt-controller"}
	runControllers(t, w, inVault)
	defer endControllers(t, w)
	wantEvent(t, w, "Vault: failed to derive vault token")

	o := newVaultOperator(t, w, vault)
	trust := replaced(t, readme.BlockOf(t, clusterPage, "sh", "vault auth enable"), "https://nomad.example.org:4646", w.Nomad.Servers[0].Address)
	o.run(t, replaced(t, trust, `["read"]`, `["deny"]`))
	wantEvent(t, w, "Missing: vault.read(secret/data/yurt-controller)")
	wantClientSays(t, w, vault.Address+"/v1/secret/data/yurt-controller\n", "Code: 403")

	_, policy, _ := strings.Cut(trust, "vault policy write")
	policy, _, _ = strings.Cut(policy, "vault write")
	o.run(t, "vault policy write"+policy)
	wantClientSays(t, w, "no secret exists at secret/data/yurt-controller")

	o.put(t, "tls_ca=@yurt-ca.pem", "", store)
	wantEvent(t, w, `map has no entry for key "tls_ca"`)

	o.put(t, "", "", store)
	endControllers(t, w) // it would come by itself, after Nomad's pauses between failures
	unseal := seal(t, vault)
	runControllers(t, w, inVault)
	wantEvent(t, w, "Vault is sealed")
	unseal()
	allocs, clients := findControllers(t, w)
	one, other := &world{w.Cluster, clients[0]}, &world{w.Cluster, clients[1]}
	session := one.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	if out := other.sh(t, session, "echo hello"); out != "hello\n" {
		t.Errorf("it printed %q", out)
	}
	wantNoToken(t, w)

	certifyController(t, w, o.dir)
	o.put(t, "", "", store+"&application_name=rotated")
	unseal = seal(t, vault)
	wantClientSays(t, w, "* Vault is sealed (retry attempt")
	if out := other.sh(t, session, "echo meanwhile"); out != "meanwhile\n" {
		t.Errorf("it printed %q", out)
	}
	unseal()
	wantRotated(t, w, o.dir, allocs)
	_, clients = findControllers(t, w)
	one = &world{w.Cluster, clients[0]}
	if out := one.sh(t, session, "echo again"); out != "again\n" {
		t.Errorf("it printed %q", out)
	}
	one.end(t, session)
}

// seal seals Vault, until unseal is called.
func seal(t *testing.T, vault *cluster.VaultServer) (unseal func()) {
	t.Helper()
	if err := vault.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := vault.Unseal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// replaced replaces text that must be there.
func replaced(t *testing.T, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %q any more in %s; correct this test:\n%s", old, clusterPage, text)
	}
	return strings.ReplaceAll(text, old, by)
}

// vaultOperator carries out the page's commands, in a directory with the certificates.
type vaultOperator struct {
	dir string
	env []string
}

func newVaultOperator(t *testing.T, w *world, vault *cluster.VaultServer) vaultOperator {
	t.Helper()
	o := vaultOperator{dir: t.TempDir(), env: []string{"VAULT_ADDR=" + vault.Address, "VAULT_TOKEN=" + vault.Token}}
	certifyController(t, w, o.dir)
	return o
}

func (o vaultOperator) run(t *testing.T, script string) {
	t.Helper()
	commands := filepath.Join(testutil.Root(t), "test", "sessions", "testdata", "vault.py")
	readme.Bash(t, o.dir, "vault() { /usr/bin/python3 "+commands+" \"$@\"; }\n"+script, o.env...)
}

// put stores the secret, with this store in it, and something else than the page says.
func (o vaultOperator) put(t *testing.T, said, instead, store string) {
	t.Helper()
	script, _, _ := strings.Cut(readme.BlockOf(t, clusterPage, "sh", "vault kv put"), "nomad job run")
	o.run(t, replaced(t, replaced(t, script, said, instead), "postgres://yurt:PASSWORD@db.internal/yurt", store))
}

// wantEvent waits until an event of the controller's task says so.
func wantEvent(t *testing.T, w *world, says string) {
	t.Helper()
	w.Nomad.WaitAlloc(t, "yurt-controller", "with an event that says "+says, func(a *nomad.Allocation) bool {
		task := a.TaskStates["controller"]
		return task != nil && slices.ContainsFunc(task.Events, func(e *nomad.TaskEvent) bool { return strings.Contains(e.DisplayMessage, says) })
	})
}

// wantClientSays waits until the log of Nomad's client has all of that.
func wantClientSays(t *testing.T, w *world, says ...string) {
	t.Helper()
	begun := time.Now()
	said := func() bool {
		log := w.Nomad.Clients[0].LogTail()
		return !slices.ContainsFunc(says, func(part string) bool { return !strings.Contains(log, part) })
	}
	for !said() {
		if time.Since(begun) > rotation {
			t.Fatalf("not so within %s: Nomad's client says %s", rotation, strings.Join(says, " … "))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// wantNoToken: only Nomad's templates have the token of Vault.
func wantNoToken(t *testing.T, w *world) {
	t.Helper()
	for _, client := range w.Nomad.Clients {
		for _, pid := range client.Processes("yurt") {
			env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
			if err != nil || bytes.Contains(env, []byte("VAULT_TOKEN")) {
				t.Errorf("process %d has the token of Vault, %v", pid, err)
			}
		}
		if tokens, err := filepath.Glob(filepath.Join(client.Dir, "data", "alloc", "*", "controller", "secrets", "vault_token")); err != nil || len(tokens) > 0 {
			t.Errorf("tokens of Vault are at %v, %v", tokens, err)
		}
	}
}

// rotation is how long Nomad may take to read a secret again, and some.
const rotation = 6 * time.Minute

// wantRotated waits until the controllers were started again with the new store, and have the
// certificates that are in dir.
func wantRotated(t *testing.T, w *world, dir string, allocs []string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(dir, "controller.pem"))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for _, id := range allocs {
		secrets := filepath.Join(w.Nomad.Clients[0].Dir, "data", "alloc", id, "controller", "secrets")
		for holds := false; !holds; time.Sleep(100 * time.Millisecond) {
			settings, err := os.ReadFile(filepath.Join(secrets, "settings.env"))
			if err != nil {
				t.Fatal(err)
			}
			certificate, err := os.ReadFile(filepath.Join(secrets, "controller.pem"))
			if err != nil {
				t.Fatal(err)
			}
			holds = bytes.Contains(settings, []byte("rotated")) && bytes.Equal(bytes.TrimSpace(certificate), bytes.TrimSpace(want))
			if time.Since(begun) > rotation {
				t.Fatalf("not so within %s: allocation %s has the new secrets", rotation, id)
			}
		}
		w.Nomad.WaitAlloc(t, "yurt-controller", "started again", func(a *nomad.Allocation) bool {
			return a.ID == id && a.TaskStates["controller"].Restarts > 0 && a.TaskStates["controller"].State == "running"
		})
	}
}
