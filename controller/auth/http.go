package auth

import (
	"net"
	"net/http"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// Enter returns a request with its caller in its context, which ends when the key is in force no longer. The key, or the token of an issuer, is in the
// header Authorization. A request without one goes on without a caller: the policy refuses it operations that need one. The
// caller of Enter calls done when the request has been served. A nil authenticator takes every request for one of the
// operator's.
func (a *Authenticator) Enter(r *http.Request) (_ *http.Request, done func(), err error) {
	if a == nil {
		ctx, done := access.With(r.Context(), access.Local())
		return r.WithContext(ctx), done, nil
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		if header = socketToken(r); header == "" {
			return r, func() {}, nil
		}
	}
	kind, key, _ := strings.Cut(header, " ")
	if !strings.EqualFold(kind, "Bearer") {
		a.failures.WithLabelValues("malformed").Inc()
		return nil, nil, yurt.FieldErrorf(yurt.CodeUnauthenticated, "Authorization", "this server takes API keys as Authorization: Bearer %s…, and the tokens of an issuer of OpenID Connect likewise if it has one", access.KeyPrefix)
	}
	principal, leave, err := a.enter(r.Context(), strings.TrimSpace(key), AddressOf(r))
	if err != nil {
		return nil, nil, err
	}
	ctx, end := access.With(r.Context(), principal)
	return r.WithContext(ctx), func() {
		end()
		leave()
	}, nil
}

// SocketProtocol is the subprotocol that a WebSocket of the server speaks, for clients that name one. A page in a browser sets no
// header of a WebSocket, so it offers its session token as a further subprotocol: this name, a dot, "token.", and the token.
const SocketProtocol = "yurt"

// socketToken returns the session token that a WebSocket offers as a subprotocol, as the header Authorization would have it. API
// keys are not for browsers, and not taken here.
func socketToken(r *http.Request) string {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return ""
	}
	for _, offered := range r.Header.Values("Sec-Websocket-Protocol") {
		for protocol := range strings.SplitSeq(offered, ",") {
			token, is := strings.CutPrefix(strings.TrimSpace(protocol), SocketProtocol+".token.")
			if is && strings.HasPrefix(token, access.TokenPrefix) {
				return "Bearer " + token
			}
		}
	}
	return ""
}

// AddressOf returns the address that a request came from, without the port. Behind a proxy it is that of the proxy.
func AddressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
