// Package auth decides which requests may use which operations: every door of the controller asks it.
//
// An [Authenticator] checks API keys. It keeps the keys that are in use in memory and compares them with the store once a second,
// so that a request costs no round trip and a revoked key is refused within 5 s, open streams included. A controller that cannot
// reach the store refuses its keys after 3 s. Run it with [Authenticator.Run]; its other methods may be called concurrently.
//
// Tokens of an issuer of OpenID Connect, which package controller/oidc checks, are kept likewise until they expire, without the store.
//
// [Policy] is the one table of operations and the scopes that they need: those of the OpenAPI document, the tools of MCP and the
// older API. An operation that is not in the table is refused.
//
// [Keys] makes, lists and revokes keys, within the tenant of its caller.
package auth
