// Package oidc checks the bearer tokens of an issuer of OpenID Connect, and maps their claims to a tenant and scopes.
//
// An [Issuer] fetches the description and the keys of the issuer when the first token comes, and new keys when a token names one
// that it does not have. Fetches are bounded in time, size and number. Keys that the issuer withdrew count for five minutes at the
// most, and while the issuer is away for an hour. A token counts only for the issuer and the audience of the configuration, with a
// signature by an asymmetric key, and until it expires.
//
// The package decides about no operation: package controller/auth holds the callers to their scopes.
package oidc
