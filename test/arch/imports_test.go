package arch

import (
	"strings"
	"testing"
)

func TestImportsRunInTheAllowedDirection(t *testing.T) {
	for _, p := range ours(t) {
		for _, broken := range CheckDirections(Directions(), p) {
			t.Error(broken)
		}
	}
}

func TestReservedImports(t *testing.T) {
	for _, p := range ours(t) {
		for _, broken := range CheckReserved(Reservations(), p) {
			t.Error(broken)
		}
	}
}

func TestCheckDirectionsFindsWhatIsWrong(t *testing.T) {
	tests := []struct {
		from, to string
		want     string // part of the complaint; empty for none
	}{
		{".", Module + "/hcl", "nothing of ours"},
		{".", "net/http", ""},
		{"hcl", Module, ""},
		{"hcl", Module + "/plugins", "may import"},
		{"executor", Module + "/controller", "knows nothing of sessions"},
		{"executor/initd", Module + "/plugins", ""},
		{"controller", Module + "/executor", "interfaces alone"},
		{"controller", Module + "/controller/postgres", "interfaces alone"},
		{"controller/postgres", Module + "/controller", ""},
		{"controller/postgres", Module + "/executor", "through its interface"},
		{"controller/local", Module + "/executor", "whatever node"},
		{"sdk/go", Module + "/controller", "bring the server"},
		{"cmd/yurt", Module + "/executor", ""},
		{"cmd/yurt-runtime-python", Module + "/executor", "a runtime is a plugin"},
		{"brandnew", "net/http", "no row of Directions"},
	}
	for _, tt := range tests {
		p := Package{ImportPath: strings.TrimSuffix(Module+"/"+tt.from, "/."), Imports: []string{"fmt", tt.to}}
		expect(t, tt.from+" → "+tt.to, CheckDirections(Directions(), p), tt.want)
	}
}

func TestCheckReservedFindsWhatIsWrong(t *testing.T) {
	runc := "github.com/opencontainers/runc/libcontainer"
	tests := []struct {
		p    Package
		want string
	}{
		{Package{ImportPath: Module + "/executor", Imports: []string{runc}}, "lives behind one package"},
		{Package{ImportPath: Module + "/executor", XTestImports: []string{runc}}, "lives behind one package"},
		{Package{ImportPath: Module + "/executor/libcontainer", Imports: []string{runc}}, ""},
		{Package{ImportPath: Module + "/cmd/yurt", Imports: []string{Module + "/executor/libcontainer"}}, "stays pure Go"},
		{Package{ImportPath: Module + "/cmd/yurt-launcher", Imports: []string{Module + "/executor/libcontainer"}}, ""},
		{Package{ImportPath: Module + "/executor", Imports: []string{Module + "/executor/sandbox"}}, ""},
		{Package{ImportPath: Module + "/driver", Imports: []string{Module + "/executor/sandbox"}}, "the sandbox is the lowest"},
		{Package{ImportPath: Module + "/executor/sandbox", Imports: []string{Module + "/executor/start"}}, "above the sandbox alone"},
		{Package{ImportPath: Module + "/executor/run", Imports: []string{Module + "/executor/kernel"}}, "above executions"},
		{Package{ImportPath: Module + "/executor/kernel", Imports: []string{Module + "/executor/node"}}, "its only door"},
		{Package{ImportPath: Module + "/executor/node", Imports: []string{Module + "/executor/kernel"}}, ""},
		{Package{ImportPath: Module + "/executor/node", Imports: []string{Module + "/executor/launch"}}, "through the broker's requests"},
		{Package{ImportPath: Module + "/executor/run", Imports: []string{Module + "/executor/cgroup"}}, "through the broker's requests"},
		{Package{ImportPath: Module + "/test/e2e", TestImports: []string{Module + "/cmd/yurt"}}, "not a library"},
	}
	for _, tt := range tests {
		expect(t, tt.p.ImportPath, CheckReserved(Reservations(), tt.p), tt.want)
	}
}

// expect wants exactly one complaint that holds the text, or none at all.
func expect(t *testing.T, what string, got []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) != 0:
		t.Errorf("%s: complains %q, want nothing", what, got)
	case want != "" && (len(got) != 1 || !strings.Contains(got[0], want)):
		t.Errorf("%s: complains %q, want one about %q", what, got, want)
	}
}
