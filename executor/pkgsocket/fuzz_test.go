package pkgsocket

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzReadRequest: any bytes are a request within its bounds or an error, and a package that is
// let through is no option, no path and no address.
func FuzzReadRequest(f *testing.F) {
	for _, seed := range []string{
		`{"manager":"pip","packages":["numpy==2.1.0","pandas[excel]>=2,<3; python_version > '3.8'"]}`,
		`{"manager":"npm","packages":["@types/node@22","lodash@^4 || 3"]}`, `{"manager":"npm","manifest":"e30="}`,
		`{"manager":"pip","packages":["-r /etc/passwd","git+https://x/y","../x"]}`, `{"manager":"pip"`, "\n", "{}\n", `{"manager":"pip","packages":[""]}`,
		`{"manager":"npm","packages":["user/repo","x@file:../y","@/x","x@npm:y"]}`, strings.Repeat("[", 1000),
	} {
		f.Add([]byte(seed + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadRequest(bytes.NewReader(data))
		if err != nil {
			return
		}
		if len(data) > MaxRequest && !bytes.Contains(data[:MaxRequest+1], []byte("\n")) || len(r.Packages) > maxPackages {
			t.Errorf("a request of %d bytes and %d packages was let through", len(data), len(r.Packages))
		}
		for _, p := range r.Packages {
			bad := strings.ContainsAny(p, ":\\\n\r\x00$`&") || strings.HasPrefix(p, "-") || strings.HasPrefix(p, ".") || len(p) > maxPackage
			if r.Manager == Pip {
				bad = bad || strings.ContainsAny(p, "/@")
			} else {
				bad = bad || strings.Count(p, "/") > strings.Count(p[:1], "@") || strings.Contains(p, "..") && strings.Contains(p, "/..")
			}
			if bad {
				t.Errorf("%q is let through as a package of %s", p, r.Manager)
			}
		}
	})
}

// FuzzAnswers: a command reads any bytes from the socket, and neither hangs nor crashes.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"text":"a"}` + "\n" + `{"done":true,"installed":[{"name":"a","version":"1"}]}` + "\n"))
	f.Add(bytes.Repeat([]byte("x"), MaxAnswer+10))
	f.Fuzz(func(t *testing.T, data []byte) {
		answers := NewAnswers(bytes.NewReader(data))
		for range len(data) + 1 {
			if _, err := answers.Next(); err != nil {
				return
			}
		}
		t.Errorf("%d bytes have more than %d answers", len(data), len(data))
	})
}
