package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// kindOfSocket describes sockets that socket(2) may make: a domain with a type, and protocols.
type kindOfSocket struct {
	domain, kind uint64
	protocols    []uint64
}

// kindsOfSockets are all that there are in a sandbox.
func kindsOfSockets() []kindOfSocket {
	tcp, udp := []uint64{0, unix.IPPROTO_TCP}, []uint64{0, unix.IPPROTO_UDP}
	route := []uint64{unix.NETLINK_ROUTE}
	return []kindOfSocket{
		{unix.AF_UNIX, unix.SOCK_STREAM, []uint64{0, unix.AF_UNIX}},
		{unix.AF_UNIX, unix.SOCK_DGRAM, []uint64{0, unix.AF_UNIX}},
		{unix.AF_UNIX, unix.SOCK_SEQPACKET, []uint64{0, unix.AF_UNIX}},
		{unix.AF_INET, unix.SOCK_STREAM, tcp},
		{unix.AF_INET6, unix.SOCK_STREAM, tcp},
		{unix.AF_INET, unix.SOCK_DGRAM, udp},
		{unix.AF_INET6, unix.SOCK_DGRAM, udp},
		{unix.AF_NETLINK, unix.SOCK_DGRAM, route},
		{unix.AF_NETLINK, unix.SOCK_RAW, route},
	}
}

// TypeOfSocket are the bits of the argument of socket(2) that are the type; of the others two are flags.
const TypeOfSocket = half &^ (unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK)

func (k kindOfSocket) rules(call string) []Rule {
	return each(Allow, call, 2, k.protocols, is(0, k.domain), Condition{Arg: 1, Mask: TypeOfSocket, Value: k.kind})
}

func sockets() Group {
	rules := []Rule{
		allow(
			"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom", "recvmmsg",
			"recvmsg", "shutdown",
		),
	}
	for call, flags := range map[string]uint{"sendto": 3, "sendmsg": 2, "sendmmsg": 3} {
		rules = append(rules, allowIf(call, without(flags, unix.MSG_MORE)), answer(unix.EOPNOTSUPP, call, with(flags, unix.MSG_MORE)))
	}
	for _, kind := range kindsOfSockets() {
		rules = append(rules, kind.rules("socket")...)
		if kind.domain == unix.AF_UNIX {
			rules = append(rules, kind.rules("socketpair")...)
		}
	}
	for _, domain := range []uint64{unix.AF_INET, unix.AF_INET6} { // programs take this error for a kernel without MPTCP
		rules = append(rules, answer(unix.EPROTONOSUPPORT, "socket", is(0, domain), is(2, unix.IPPROTO_MPTCP)))
	}
	return Group{
		Name: "sockets",
		Reason: "Programs speak TCP, UDP and Unix sockets, and ask by NETLINK_ROUTE which addresses there are. Any other family, type or protocol reaches parts of " +
			"the kernel that no program here has a use for, whose modules the host would load when asked for one. " +
			"Datagrams that wait for more (MSG_MORE) are refused, since the kernel charges them to no cgroup.",
		Rules: rules,
	}
}

// socketOptions are the options of one level that may be set.
type socketOptions struct {
	level uint64
	names []uint64
}

// Options of which x/sys/unix has no names.
const (
	soPassPIDFD   = 76
	soPassRights  = 83
	levelUDP      = unix.IPPROTO_UDP
	ipv6MinHops   = 73
	ipMinTTL      = 21
	localPorts    = 51
	soRcvTimeoNew = 66
	soSndTimeoNew = 67
)

func allowedOptions() []socketOptions {
	return []socketOptions{
		{unix.SOL_SOCKET, []uint64{
			unix.SO_REUSEADDR, unix.SO_DONTROUTE, unix.SO_BROADCAST, unix.SO_KEEPALIVE, unix.SO_OOBINLINE, unix.SO_NO_CHECK, unix.SO_PRIORITY,
			unix.SO_LINGER, unix.SO_REUSEPORT, unix.SO_PASSCRED, unix.SO_RCVLOWAT, unix.SO_RCVTIMEO, unix.SO_SNDTIMEO, unix.SO_BINDTODEVICE,
			unix.SO_BINDTOIFINDEX, unix.SO_TIMESTAMP, unix.SO_TIMESTAMPNS, unix.SO_TIMESTAMPING, unix.SO_TIMESTAMP_NEW, unix.SO_TIMESTAMPNS_NEW,
			unix.SO_TIMESTAMPING_NEW, unix.SO_RXQ_OVFL, unix.SO_PEEK_OFF, unix.SO_SELECT_ERR_QUEUE, unix.SO_INCOMING_CPU, unix.SO_MAX_PACING_RATE,
			soRcvTimeoNew, soSndTimeoNew, soPassPIDFD, soPassRights,
		}},
		{unix.IPPROTO_TCP, []uint64{
			unix.TCP_NODELAY, unix.TCP_MAXSEG, unix.TCP_CORK, unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT, unix.TCP_SYNCNT,
			unix.TCP_LINGER2, unix.TCP_DEFER_ACCEPT, unix.TCP_WINDOW_CLAMP, unix.TCP_QUICKACK, unix.TCP_CONGESTION, unix.TCP_THIN_LINEAR_TIMEOUTS,
			unix.TCP_THIN_DUPACK, unix.TCP_USER_TIMEOUT, unix.TCP_NOTSENT_LOWAT, unix.TCP_INQ,
		}},
		{unix.IPPROTO_IP, []uint64{
			unix.IP_TOS, unix.IP_TTL, unix.IP_RECVOPTS, unix.IP_RETOPTS, unix.IP_PKTINFO, unix.IP_MTU_DISCOVER, unix.IP_RECVERR, unix.IP_RECVTTL,
			unix.IP_RECVTOS, unix.IP_FREEBIND, unix.IP_RECVORIGDSTADDR, ipMinTTL, unix.IP_BIND_ADDRESS_NO_PORT, unix.IP_RECVFRAGSIZE,
			unix.IP_MULTICAST_IF, unix.IP_MULTICAST_TTL, unix.IP_MULTICAST_LOOP, unix.IP_MULTICAST_ALL, unix.IP_UNICAST_IF, localPorts,
		}},
		{unix.IPPROTO_IPV6, []uint64{
			unix.IPV6_V6ONLY, unix.IPV6_UNICAST_HOPS, unix.IPV6_MULTICAST_IF, unix.IPV6_MULTICAST_HOPS, unix.IPV6_MULTICAST_LOOP,
			unix.IPV6_MTU_DISCOVER, unix.IPV6_RECVERR, unix.IPV6_RECVPKTINFO, unix.IPV6_RECVHOPLIMIT, unix.IPV6_RECVTCLASS, unix.IPV6_TCLASS,
			unix.IPV6_DONTFRAG, unix.IPV6_AUTOFLOWLABEL, unix.IPV6_FREEBIND, unix.IPV6_RECVORIGDSTADDR, ipv6MinHops, unix.IPV6_MULTICAST_ALL,
			unix.IPV6_UNICAST_IF, unix.IPV6_ADDR_PREFERENCES, unix.IPV6_RECVFRAGSIZE, unix.IPV6_RECVPATHMTU, unix.IPV6_2292PKTINFO, unix.IPV6_2292HOPLIMIT,
		}},
		{levelUDP, []uint64{unix.UDP_SEGMENT, unix.UDP_GRO}},
		{unix.SOL_NETLINK, []uint64{
			unix.NETLINK_ADD_MEMBERSHIP, unix.NETLINK_DROP_MEMBERSHIP, unix.NETLINK_PKTINFO, unix.NETLINK_BROADCAST_ERROR, unix.NETLINK_CAP_ACK,
			unix.NETLINK_EXT_ACK, unix.NETLINK_GET_STRICT_CHK,
		}},
	}
}

func options() Group {
	var rules []Rule
	for _, level := range allowedOptions() {
		rules = append(rules, each(Allow, "setsockopt", 2, level.names, is(1, level.level))...)
	}
	rules = append(rules, each(Pretend, "setsockopt", 2, []uint64{unix.SO_SNDBUF, unix.SO_RCVBUF}, is(1, unix.SOL_SOCKET))...)
	return Group{
		Name: "options of sockets",
		Reason: "Programs tune their connections. The sizes of buffers stay as the sandbox has them, whatever is asked for: the kernel takes a size as a wish, " +
			"and charges to no cgroup what is in them. Left out are programs in the kernel's own language (SO_ATTACH_FILTER, SO_ATTACH_BPF, " +
			"SO_LOCK_FILTER, SO_ATTACH_REUSEPORT_*), joining groups of multicast, whose records are not charged, other protocols on top of TCP and " +
			"UDP (TCP_ULP, UDP_ENCAP), keys, options of packets, corked datagrams, and sending without a copy.",
		Rules: rules,
	}
}

// slicesOf joins lists of rules.
func slicesOf(lists ...[]Rule) []Rule { return slices.Concat(lists...) }
