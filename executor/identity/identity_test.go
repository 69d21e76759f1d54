package identity_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/identity"
)

func authority(t *testing.T) (*identity.Authority, string) {
	t.Helper()
	dir := t.TempDir()
	if err := identity.InitAuthority(dir, time.Hour, time.Now); err != nil {
		t.Fatal(err)
	}
	a, err := identity.OpenAuthority(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return a, dir
}

// issue writes the certificate of a part of that name, beside the authority that it trusts.
func issue(t *testing.T, a *identity.Authority, dir string, name identity.Name) identity.Files {
	t.Helper()
	files := identity.Files{
		Authorities: filepath.Join(dir, identity.AuthorityFile),
		Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
	}
	if _, err := a.Issue(name, time.Minute, files.Certificate, files.Key); err != nil {
		t.Fatal(err)
	}
	return files
}

var quiet = slog.New(slog.DiscardHandler) //nolint:gochecknoglobals // of tests

func TestKeysAreTheirOwnersAlone(t *testing.T) {
	a, dir := authority(t)
	files := issue(t, a, dir, identity.Name{Role: identity.RoleExecutor, Name: "n1"})
	for _, path := range []string{filepath.Join(dir, identity.AuthorityKeyFile), files.Key} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestAnAuthorityIsNeverReplaced(t *testing.T) {
	_, dir := authority(t)
	before, err := os.ReadFile(filepath.Join(dir, identity.AuthorityKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := identity.InitAuthority(dir, time.Hour, time.Now); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("making another: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, identity.AuthorityKeyFile)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("its key has changed: %v", err)
	}
}

func TestAuthorityThatCannotIssue(t *testing.T) {
	if _, err := identity.OpenAuthority(t.TempDir(), time.Now); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("there is none: %v", err)
	}
	a, dir := authority(t)
	later := func() time.Time { return time.Now().Add(2 * time.Hour) }
	if _, err := identity.OpenAuthority(dir, later); err == nil || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("it has expired: %v", err)
	}
	// No certificate outlives its authority.
	expires, err := a.Issue(identity.Name{Role: identity.RoleExecutor, Name: "n1"}, 1000*time.Hour, filepath.Join(dir, "c"), filepath.Join(dir, "k"))
	if err != nil || time.Until(expires) > time.Hour {
		t.Errorf("it issued what expires at %s, %v", expires, err)
	}
	// An issued certificate is not an authority.
	files := issue(t, a, dir, identity.Name{Role: identity.RoleExecutor, Name: "n1"})
	other := t.TempDir()
	for from, to := range map[string]string{files.Certificate: identity.AuthorityFile, files.Key: identity.AuthorityKeyFile} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other, to), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := identity.OpenAuthority(other, time.Now); err == nil {
		t.Error("a part's certificate was taken for an authority's")
	}
}

func TestNames(t *testing.T) {
	a, dir := authority(t)
	for _, name := range []identity.Name{
		{Role: "admin", Name: "a"},
		{Role: identity.RoleExecutor, Name: ""},
		{Role: identity.RoleExecutor, Name: "a/b"},
		{Role: identity.RoleExecutor, Name: ".."},
		{Role: identity.RoleExecutor, Name: "a b"},
		{Role: identity.RoleExecutor, Name: "a%2fb"},
		{Role: identity.RoleExecutor, Name: strings.Repeat("x", 129)},
	} {
		if _, err := a.Issue(name, time.Minute, filepath.Join(dir, "c"), filepath.Join(dir, "k")); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("%q was issued: %v", name, err)
		}
	}
	name := identity.Name{Role: identity.RoleController, Name: "Eu-1.a_b"}
	if name.String() != "spiffe://yurt/controller/Eu-1.a_b" {
		t.Errorf("it is %s", name)
	}
	source, err := identity.Open(issue(t, a, dir, name), identity.RoleController, time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := source.Name(); err != nil || got != name {
		t.Errorf("it came back as %s, %v", got, err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	a, dir := authority(t)
	files := issue(t, a, dir, identity.Name{Role: identity.RoleExecutor, Name: "n1"})
	_, otherDir := authority(t)
	for _, tt := range []struct {
		name  string
		files identity.Files
		role  identity.Role
		says  string
	}{
		{"another role", files, identity.RoleController, "for the role controller is needed"},
		{"another authority", identity.Files{Authorities: filepath.Join(otherDir, identity.AuthorityFile), Certificate: files.Certificate, Key: files.Key}, identity.RoleExecutor, "not from an authority"},
		{"another key", identity.Files{Authorities: files.Authorities, Certificate: files.Certificate, Key: filepath.Join(dir, identity.AuthorityKeyFile)}, identity.RoleExecutor, "no certificate and its key"},
		{"no authority", identity.Files{Authorities: files.Key, Certificate: files.Certificate, Key: files.Key}, identity.RoleExecutor, "holds no certificate of an authority"},
		{"none", identity.Files{Authorities: files.Authorities, Certificate: filepath.Join(dir, "none"), Key: files.Key}, identity.RoleExecutor, "no such file"},
		{"the authority's own", identity.Files{Authorities: files.Authorities, Certificate: files.Authorities, Key: filepath.Join(dir, identity.AuthorityKeyFile)}, identity.RoleExecutor, "names no part of Yurt"},
	} {
		if _, err := identity.Open(tt.files, tt.role, time.Now, quiet); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestFilesThatChange(t *testing.T) {
	a, dir := authority(t)
	name := identity.Name{Role: identity.RoleExecutor, Name: "n1"}
	files := issue(t, a, dir, name)
	now := time.Now()
	source, err := identity.Open(files, identity.RoleExecutor, func() time.Time { return now }, quiet)
	if err != nil {
		t.Fatal(err)
	}
	_, first, err := source.Name()
	if err != nil {
		t.Fatal(err)
	}
	// Half of a change: the one before is used on.
	certificate, err := os.ReadFile(files.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files.Certificate, certificate[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, expires, err := source.Name(); err != nil || !expires.Equal(first) {
		t.Errorf("with half a certificate: %s, %v", expires, err)
	}
	if err := os.Remove(files.Key); err != nil {
		t.Fatal(err)
	}
	if _, expires, err := source.Name(); err != nil || !expires.Equal(first) {
		t.Errorf("without a key: %s, %v", expires, err)
	}
	// All of it.
	if _, err := a.Issue(name, 30*time.Minute, files.Certificate, files.Key); err != nil {
		t.Fatal(err)
	}
	if _, expires, err := source.Name(); err != nil || !expires.After(first) {
		t.Errorf("it was replaced, and expires at %s, %v", expires, err)
	}
	// And when it is too late.
	now = now.Add(time.Hour)
	if _, _, err := source.Name(); yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "expired at") || !strings.Contains(err.Error(), files.Certificate) {
		t.Errorf("it has expired: %v", err)
	}
}
