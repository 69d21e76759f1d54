package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
)

// vaultHTTP is the port of every Vault of this package.
const vaultHTTP = 8200

// VaultServer is a server of Vault that runs, with its storage in memory.
type VaultServer struct {
	*process

	Address string // of its API, a URL
	Token   string // of root

	keys []string
}

// Vault starts a server for the test, which ends with it.
func Vault(t testing.TB) *VaultServer {
	t.Helper()
	needsRoot(t)
	v, err := startVault(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Vault at %s printed:\n%s", v.Address, v.LogTail())
		}
		if err := v.Close(); err != nil {
			t.Errorf("ending Vault: %v", err)
		}
	})
	return v
}

func startVault(ctx context.Context) (*VaultServer, error) {
	program, err := engineVault.find(ctx)
	if err != nil {
		return nil, err
	}
	ip, err := place(nil, "", vaultHTTP)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "yurt-vault-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for Vault: %w", err)
	}
	address := fmt.Sprintf("%s:%d", ip, vaultHTTP)
	v := &VaultServer{
		process: &process{name: "Vault", dir: dir, args: []string{program, address}, env: []string{"TMPDIR=" + dir}},
		Address: "http://" + address,
	}
	err = v.start()
	if err == nil {
		err = v.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// begin waits until the server answers, and makes and gives it its keys.
func (v *VaultServer) begin(ctx context.Context) error {
	err := v.ready(ctx, func(ctx context.Context) error { return v.Call(ctx, http.MethodGet, "sys/seal-status", nil, nil) })
	if err != nil {
		return err
	}
	var keys struct {
		Keys  []string `json:"keys"`
		Token string   `json:"root_token"`
	}
	if err := v.Call(ctx, http.MethodPut, "sys/init", map[string]int{"secret_shares": 1, "secret_threshold": 1}, &keys); err != nil {
		return err
	}
	v.Token, v.keys = keys.Token, keys.Keys
	return v.Unseal(ctx)
}

// Seal has the server answer only that it is sealed, until [VaultServer.Unseal].
func (v *VaultServer) Seal(ctx context.Context) error {
	return v.Call(ctx, http.MethodPut, "sys/seal", nil, nil)
}

// Unseal gives the server its keys, and waits until it serves.
func (v *VaultServer) Unseal(ctx context.Context) error {
	for _, key := range v.keys {
		if err := v.Call(ctx, http.MethodPut, "sys/unseal", map[string]string{"key": key}, nil); err != nil {
			return err
		}
	}
	return v.ready(ctx, func(ctx context.Context) error { return v.Call(ctx, http.MethodGet, "sys/health", nil, nil) })
}

// Call calls the API as root: the path is below /v1/. The response is decoded into answer, unless
// that is nil.
func (v *VaultServer) Call(ctx context.Context, method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("asking Vault for %s: %w", path, err)
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, v.Address+"/v1/"+path, content)
	if err != nil {
		return fmt.Errorf("asking Vault for %s: %w", path, err)
	}
	if v.Token != "" {
		req.Header.Set("X-Vault-Token", v.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking Vault for %s: %w", path, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		return errors.Join(fmt.Errorf("asking Vault for %s: it answers %s: %s", path, res.Status, data), err)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(data, answer)
}

// Close ends the server and removes all that was its.
func (v *VaultServer) Close() error {
	return errors.Join(v.end(sigterm), sweep(v.dir, ""))
}
