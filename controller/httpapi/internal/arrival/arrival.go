// Package arrival looks at a request before an operation is chosen: whether it may come at all, and its id.
package arrival

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/yurtrun/yurt"
)

// HeaderRequestID has the id of a request, in both directions.
const HeaderRequestID = "X-Request-Id"

const maxRequestID = 128 // bytes

// CheckLocal refuses requests that a server without keys must not answer, if the server answers this machine alone. A web page can
// make its reader's browser send requests to this machine: those carry the page's origin, or, when the page's own name was made to
// resolve to this machine, a foreign Host.
func CheckLocal(r *http.Request, loopbackOnly bool) error {
	if !loopbackOnly {
		return nil
	}
	if !isLoopback(r.Host) {
		return yurt.FieldErrorf(yurt.CodeForbidden, "Host", "this server answers on this machine alone; ask for it as localhost or 127.0.0.1")
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return yurt.FieldErrorf(yurt.CodeForbidden, "Origin", "this server takes no requests from pages of other origins")
	}
	return nil
}

// isLoopback reports whether a Host header names this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && address.IsLoopback()
}

// KeepDotSegments escapes the path of a file, so that the mux neither cleans it nor redirects: whether it leads out of the workspace
// is for the controller to say. The paths of files begin with the sessions' path.
func KeepDotSegments(u *url.URL, sessions string) {
	escaped := u.EscapedPath()
	rest, ok := strings.CutPrefix(escaped, sessions)
	if !ok {
		return
	}
	id, file, ok := strings.Cut(rest, "/files/")
	if !ok || strings.Contains(id, "/") {
		return
	}
	file = strings.ReplaceAll(file, "/", "%2F")
	if file == "." || file == ".." {
		file = strings.ReplaceAll(file, ".", "%2E")
	}
	u.RawPath = sessions + id + "/files/" + file
}

// RequestID takes the id that a client or proxy gave, if it is fit for a log, or makes one.
func RequestID(r *http.Request) string {
	id := r.Header.Get(HeaderRequestID)
	if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, notIDRune) {
		return "req_" + strings.ToLower(rand.Text())
	}
	return id
}

func notIDRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
}
