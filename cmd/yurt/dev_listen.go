package main

import (
	"net"
	"net/netip"
	"strconv"

	"github.com/yurtrun/yurt"
)

// defaultListen is the address of the development server.
const defaultListen = "127.0.0.1:8700"

// checkLoopback refuses an address that another machine could reach: the command asks for no key,
// so that every client that reaches it can run code. The hint is the next step for the user.
func checkLoopback(address, command, hint string) error {
	const field = "--listen"
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q is not an address; give host:port such as %s", address, defaultListen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q is not a port; give 0 to 65535, where 0 means any that is free", port)
	}
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return yurt.FieldErrorf(yurt.CodeInvalidArgument, field,
		"%q can be reached from other machines, and %s asks nobody for a key; listen on 127.0.0.1, [::1] or localhost%s", address, command, hint)
}
