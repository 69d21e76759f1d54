// Package egress is an HTTP proxy by which a sandbox reaches a few hosts and no others. The executor serves it at a socket that
// it opened in the sandbox's network namespace, which has no other way out.
//
// Its callers are hostile. A host is reached only if its name and port are on the list, independent of other parts of the
// request: a tunnel is cut unless the TLS in it is for the requested host. Names are resolved here, once, and the connection
// goes to a checked address: private, loopback, link-local and other special addresses are refused, unless the operator listed
// the host as a private one, and those of cloud metadata services always. The proxy never sees the content of TLS, adds no
// credentials, and keeps no data.
package egress
