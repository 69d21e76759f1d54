package sdk

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/readme"
)

// key makes a key and returns its id and the key itself.
func (s keyed) key(t *testing.T, scopes ...access.Scope) (id, key string) {
	t.Helper()
	made, secret, err := s.keys.Create(t.Context(), yurtclient.CreateKeyRequest{Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID, secret.Reveal()
}

// env returns the variables that the SDKs' programs about keys read, with a key that the program revokes.
func (s keyed) env(t *testing.T) []string {
	t.Helper()
	id, key := s.key(t, access.SessionsRead, access.SessionsWrite, access.SessionsExecute, access.Files)
	_, reader := s.key(t, access.SessionsRead)
	return []string{"YURT_SERVER=" + s.url, "YURT_API_KEY=" + key, "YURT_KEY_ID=" + id, "YURT_READER_KEY=" + reader, "YURT_ADMIN_KEY=" + s.admin}
}

func TestPythonKeys(t *testing.T) {
	t.Parallel()
	server := keyedServer(t)
	script := filepath.Join(python(t), "tests", "keys.py")
	if out := readme.Bash(t, t.TempDir(), installed(t)+" "+script, server.env(t)...); out != "all refused\n" {
		t.Errorf("the program printed %q, expected all keys but the good one to be refused", out)
	}
}

// TestPythonKeysPage runs the snippet of the page about keys as it is written, with the key of an operator.
func TestPythonKeysPage(t *testing.T) {
	t.Parallel()
	snippet, server := snippets(t, "PYTHON.md", "python keys", 1)[0], keyedServer(t)
	script := "cat > snippet.py <<'END'\n" + snippet[2] + "END\n" + installed(t) + " snippet.py\n"
	wantKeysPage(t, readme.Bash(t, t.TempDir(), script, "YURT_SERVER="+server.url, "YURT_API_KEY="+server.admin))
}

func TestTypescriptKeysPage(t *testing.T) {
	t.Parallel()
	snippet, server := snippets(t, "TYPESCRIPT.md", "js keys", 1)[0], keyedServer(t)
	script := "cat > snippet.mjs <<'END'\n" + snippet[2] + "END\n" + node(t) + " snippet.mjs\n"
	wantKeysPage(t, readme.Bash(t, installedTypescript(t), script, "YURT_SERVER="+server.url, "YURT_API_KEY="+server.admin))
}

// wantKeysPage looks at the output of a snippet about keys: the answer of the code, one sandbox, and entries of the audit log.
func wantKeysPage(t *testing.T, out string) {
	t.Helper()
	if !strings.HasPrefix(out, "42\n1\n") || !strings.Contains(out, "create-session") {
		t.Errorf("the snippet printed %q, expected 42, 1 and entries of the audit log", out)
	}
}

func TestTypescriptKeys(t *testing.T) {
	t.Parallel()
	server := keyedServer(t)
	project := installedTypescript(t)
	for _, form := range []string{"esm", "cjs"} {
		t.Run(form, func(t *testing.T) {
			program(t, project, "keys.mjs", "all refused\n", append(server.env(t), "YURT_FORM="+form)...)
		})
	}
}

func TestGoKeys(t *testing.T) {
	t.Parallel()
	server := keyedServer(t)
	id, key := server.key(t, access.SessionsRead, access.SessionsWrite, access.SessionsExecute)
	_, reader := server.key(t, access.SessionsRead)
	create := func(key string) error {
		return failing(server.client(t, key).Create(t.Context(), yurtclient.CreateSessionRequest{}))
	}
	wantCode(t, "no key", yurt.CodeUnauthenticated, create(""))
	wantCode(t, "an unknown key", yurt.CodeUnauthenticated, create("yurt_"+strings.Repeat("a", 40)))
	wantCode(t, "a key without the scope", yurt.CodeForbidden, create(reader))
	for _, broken := range []string{"yurt_a\nb", "yurt_aé"} {
		err := failing(yurtclient.New(server.url, yurtclient.WithAPIKey(broken)))
		wantCode(t, "a key that is no header", yurt.CodeInvalidArgument, err)
		if coded := (*yurt.Error)(nil); !errors.As(err, &coded) || coded.Field != "api_key" || strings.Contains(err.Error(), "yurt_a") {
			t.Errorf("a key that is no header: %v, expected an error of the field api_key that does not tell the key", err)
		}
	}
	box, err := server.client(t, key).Create(t.Context(), yurtclient.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	execution, err := box.Stream(t.Context(), yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "while true; do echo on; sleep 0.1; done"}})
	if err != nil {
		t.Fatal(err)
	}
	revoked := false
	for event, streamErr := range execution.Events(t.Context()) {
		if err = streamErr; err == nil && event.Type == yurt.EventStdout && !revoked {
			revoked = true
			if _, err := server.keys.Revoke(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantCode(t, "a stream whose key is revoked", yurt.CodeUnauthenticated, err)
	wantCode(t, "a command with a revoked key", yurt.CodeUnauthenticated, failing(box.RunCommand(t.Context(), "true")))
	left, err := server.client(t, server.admin).Connect(t.Context(), box.ID)
	if err != nil {
		t.Fatal(err)
	}
	if record, err := server.client(t, server.admin).Execution(t.Context(), box.ID, execution.ID); err != nil || record.State != yurt.ExecutionRunning {
		t.Errorf("the execution is %q (%v), expected it to go on without its caller", record.State, err)
	}
	if _, err := left.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}

func wantCode(t *testing.T, name string, want yurt.Code, err error) {
	t.Helper()
	if got := yurt.CodeOf(err); err == nil || got != want {
		t.Errorf("%s: %v (%s), expected %s", name, err, got, want)
	}
}
