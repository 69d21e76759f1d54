// Package access names the caller of a request, and the operations that the caller may use.
//
// A [Principal] has a tenant and scopes. A [Key] is the record of an API key: the key itself is a [Secret], which its caller
// sees once, and of which a store keeps the SHA-256. The package holds values and rules: package controller/auth checks keys.
package access
