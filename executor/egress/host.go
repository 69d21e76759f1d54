package egress

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt"
)

// Host is a host that may be reached: a name, or an address, and a port.
type Host struct {
	Name    string // in lower case
	Port    uint16
	Private bool // it may be at a private or loopback address
}

// maxName bounds the name of a host, in bytes, as DNS does.
const maxName = 253

// ParseHost reads NAME or NAME:PORT; the port is 443 unless given.
func ParseHost(text string) (Host, error) {
	name, port := text, "443"
	if strings.Contains(text, ":") {
		var err error
		if name, port, err = net.SplitHostPort(text); err != nil {
			return Host{}, yurt.Errorf(yurt.CodeInvalidArgument, "%.100q is no host; give NAME or NAME:PORT", text)
		}
	}
	number, err := strconv.ParseUint(port, 10, 16)
	clean, ok := cleanName(name)
	if err != nil || number == 0 || !ok {
		return Host{}, yurt.Errorf(yurt.CodeInvalidArgument, "%.100q is no host; give NAME or NAME:PORT", text)
	}
	return Host{Name: clean, Port: uint16(number)}, nil
}

// HostOf returns the host of an operator's own registry, which may be a private one. An address that holds a password is
// refused, since users of the proxy could read it.
func HostOf(address string) (Host, error) {
	u, err := url.Parse(strings.TrimPrefix(address, "sparse+"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return Host{}, yurt.Errorf(yurt.CodeInvalidArgument, "it is not the address of a registry; give one that begins with https://")
	}
	if u.User != nil {
		return Host{}, yurt.Errorf(yurt.CodeInvalidArgument, "the address holds a name or a password, which every package's install script could read; use a mirror that asks for none")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	host, err := ParseHost(net.JoinHostPort(u.Hostname(), port))
	host.Private = true
	return host, err
}

// cleanName returns a name of DNS, or an address, in the one form in which it is compared.
func cleanName(name string) (string, bool) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "" || len(name) > maxName {
		return "", false
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().String(), addr.Zone() == ""
	}
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	}
	parts := strings.Split(name, ".")
	return name, !slices.Contains(parts, "") && !strings.ContainsFunc(name, odd)
}

// special lists networks without registries, beside those that [netip.Addr] knows.
func special() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"), // carriers'
		netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"),   // of documentation
		netip.MustParsePrefix("192.88.99.0/24"), // relays from IPv6
		netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("64:ff9b::/96"), // IPv4 in IPv6, by which all of these could be written
		netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("2002::/16"),
		netip.MustParsePrefix("2001::/32"),
		netip.MustParsePrefix("2001:db8::/32"), // of documentation
		netip.MustParsePrefix("100::/64"),      // discards packets
		netip.MustParsePrefix("5f00::/16"),     // of segment routing
		netip.MustParsePrefix("fec0::/10"),
		netip.MustParsePrefix("::/96"),
	}
}

// metadata are where clouds tell their machines secrets. All but these are link-local.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"),
		netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"),
	}
}

// mayReach reports whether a host may be at the address.
func (h Host) mayReach(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast() || addr.IsLinkLocalUnicast() {
		return false
	}
	for _, known := range metadata() {
		if addr == known {
			return false
		}
	}
	if h.Private {
		return true
	}
	if addr.IsPrivate() || addr.IsLoopback() {
		return false
	}
	for _, network := range special() {
		if network.Contains(addr) {
			return false
		}
	}
	return !ownAddress(addr)
}

// ownAddress reports whether the node has the address, or may have it: services of the node listen there.
func ownAddress(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, each := range own {
		if prefix, err := netip.ParsePrefix(each.String()); err == nil && prefix.Addr().Unmap() == addr {
			return true
		}
	}
	return false
}
