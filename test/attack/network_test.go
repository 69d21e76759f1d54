package attack

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestNetwork tries to reach anything but the sandbox's own loopback interface.
func TestNetwork(t *testing.T) {
	abstract := listen(t, "unix", fmt.Sprintf("@yurt-attack-%s", t.Name()))
	path := listen(t, "unix", filepath.Join(t.TempDir(), "socket"))
	tcp := listen(t, "tcp", "0.0.0.0:0").(*net.TCPAddr)
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var hosts strings.Builder
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			fmt.Fprintf(&hosts, "%q, ", ip.IP)
		}
	}
	wage(t, []attack{
		{
			name:  "sockets of the host",
			fails: "abstract names belong to the network namespace, paths to the mount namespace",
			program: fmt.Sprintf(`
for name in (%q.replace('@', '\0'), %q):
    s = socket.socket(socket.AF_UNIX)
    fails(name, lambda: s.connect(name))
for line in open('/proc/net/unix').readlines()[1:]:
    if len(line.split()) > 7: got(line)                       # one that has a name
`, abstract.String(), path.String()),
		},
		{
			name:  "servers of the host and of the world",
			fails: "the network namespace has a loopback interface of its own and no route",
			program: fmt.Sprintf(`
for host in (%s '169.254.169.254', '8.8.8.8', '10.0.0.1', '172.17.0.1', '192.168.1.1'):
    for port in (%d, 53, 80):
        s = socket.socket()
        s.settimeout(1)
        fails((host, port), lambda: s.connect((host, port)))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if not host.startswith('127.'): fails(host, lambda: s.sendto(b'x', (host, 53)))
fails('IPv6', lambda: socket.create_connection(('2606:4700:4700::1111', 53), 1))
fails('a name', lambda: socket.getaddrinfo('example.com', 80))
if [n for _, n in socket.if_nameindex()] != ['lo']: got(socket.if_nameindex())
`, hosts.String(), tcp.Port),
		},
		{
			name:  "links, addresses and routes by netlink",
			fails: "changes take CAP_NET_ADMIN",
			program: `
def ask(kind, body, protocol=0):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    s.settimeout(1)
    message = struct.pack('=IHHII', 16 + len(body), kind, 0x605, 1, 0) + body      # request, acknowledge, create, exclusive
    s.send(message)
    answer = s.recv(4096)
    return struct.unpack_from('=i', answer, 16)[0]
attribute = lambda kind, data: struct.pack('=HH', 4 + len(data), kind) + data + bytes(-len(data) % 4)
link = bytes(16) + attribute(3, b'evil0\0') + attribute(18, attribute(1, b'dummy\0'))
address = struct.pack('=BBBBI', 2, 24, 0, 0, 1) + attribute(2, bytes([10, 9, 8, 7]))
route = struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 3, 0, 1, 0) + attribute(4, struct.pack('=I', 1))
for what, kind, body in (('a link', 16, link), ('an address', 20, address), ('a route', 24, route)):
    error = ask(kind, body)
    if error != -errno.EPERM: got(what, error)
`,
		},
		{
			name:  "raw, packet and exotic sockets",
			fails: "raw ones take CAP_NET_RAW, and the list knows four families; of vsock, which leads to the hypervisor, there is no namespace",
			program: `
for family in range(50):
    if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK): continue
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        # The kernel takes 32 bits of the family; a filter sees 64.
        for bits in (0, 1 << 32, 1 << 63, 0xffffffff << 32):
            refused(41 if X86 else 198, ctypes.c_ulong(bits | family), kind, 0)
            refused(53 if X86 else 199, ctypes.c_ulong(bits | family), kind, 0, bytes(8))    # socketpair
for protocol in (0, 1, 6, 17, 255):
    fails('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol))
    fails('raw6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, protocol))
fails('ping', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1))
fails('low port', lambda: socket.socket().bind(('127.0.0.1', 80)))
`,
		},
		{
			name:  "kernel interfaces by socket",
			fails: "the families and protocols that reach them are not on the list, or take capabilities",
			program: `
for name, protocol in {'audit': 9, 'selinux': 7, 'connector': 11, 'netfilter': 12, 'scsi': 18, 'rdma': 20, 'xfrm': 6}.items():
    try: s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    except OSError: continue
    s.settimeout(0.2)
    body = struct.pack('=IHHII', 16, 1000, 5, 1, 0)
    try:
        s.send(body)
        answer = s.recv(4096)
        if struct.unpack_from('=H', answer, 4)[0] != 2 or struct.unpack_from('=i', answer, 16)[0] == 0: got(name, answer)
    except OSError: pass
    fails(name + ' group', lambda: s.setsockopt(270, 1, 1) if protocol == 9 else (_ for _ in ()).throw(OSError()))
`,
		},
	})
}

// listen is a server on the host for the time of the test.
func listen(t *testing.T, network, address string) net.Addr {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Errorf("a connection reached %s", listener.Addr())
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return listener.Addr()
}
