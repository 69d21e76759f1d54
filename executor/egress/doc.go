// Package egress is an HTTP proxy by which a sandbox reaches a few hosts and no others.
// The executor serves it at a socket that it opened in the sandbox's network namespace,
// which has no other way out.
//
// Who uses it is hostile. A host is reached only if its name and port are on the list,
// whatever the request says in other places: a tunnel is cut unless the TLS in it is for
// the host that was asked for. Names are resolved here, once, and the connection goes to
// an address that was looked at: private, loopback, link-local and other special addresses
// are refused, unless the operator listed the host as a private one, and those of cloud
// metadata services always. The proxy never sees what is inside of TLS, adds no
// credentials, and keeps nothing.
package egress
