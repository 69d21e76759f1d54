// Package identity names the parts of Yurt to each other over a network: a small authority that issues certificates, and the
// mutual TLS that is made of them.
//
// A part is named by the one URI in its certificate, such as spiffe://yurt/executor/NODE or spiffe://yurt/controller/NAME; other
// names in it have no meaning. Both sides check that the other's certificate is from an authority that they trust, is valid now,
// and names the role, or the very part, that they expect. The check cannot be switched off.
//
// Certificates are read from files, again whenever those change, so that they are renewed and authorities replaced without a
// restart: the next connection uses the new files. A part looks at its files every second, also while it has no new connections. An open
// connection stays for as long as its other side is trusted. A change that cannot be used, such as a key that does not
// belong to its certificate yet, is logged, and the files of before stay in use.
package identity
