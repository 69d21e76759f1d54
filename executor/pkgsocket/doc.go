// Package pkgsocket is how a command inside a sandbox, such as "pip install", asks the node to
// install packages into the session. The node listens at a Unix socket with an abstract name in
// that only the node writes to. A connection carries one request, and answers until the
// installation has ended.
//
// Code of the session can connect too, and may send any bytes: requests are bounded in size, in
// number and in rate, and are read one at a time. Both sides use this package: the node the
// server, and the command (package pkgcommand) the rest.
package pkgsocket
