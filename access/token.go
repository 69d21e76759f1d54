package access

import "slices"

// TokenPrefix begins each session token, which is an API key for one session.
const TokenPrefix = KeyPrefix + "session_"

// MaxTokens is how many tokens a session may have that are in force.
const MaxTokens = 100

// TokenScopes returns the scopes that a session token may have.
func TokenScopes() []Scope { return []Scope{SessionsRead, SessionsWrite, SessionsExecute, Files} }

// GenerateToken returns a fresh session token.
func GenerateToken() Secret { return generate(TokenPrefix) }

// Bound reports whether the principal holds a session token, and so reaches one session alone.
func (p *Principal) Bound() bool { return p.Session != "" }

// MayGive returns the first of the scopes that the principal cannot give to a session token; ok is true when there is no such scope.
func (p *Principal) MayGive(scopes []Scope) (_ Scope, ok bool) {
	for _, scope := range scopes {
		if !slices.Contains(TokenScopes(), scope) || !p.May(scope) {
			return scope, false
		}
	}
	return "", true
}
