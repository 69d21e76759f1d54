package attack

import (
	"net"
	"testing"
)

// TestNetwork tries to reach anything but the sandbox's own loopback interface.
func TestNetwork(t *testing.T) {
	wage(t, networkAttacks())
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

// networkAttacks change the network, or speak to the kernel by it.
func networkAttacks() []attack {
	return []attack{
		{
			name:  "links, addresses and routes by netlink",
			fails: "changes take CAP_NET_ADMIN",
			layer: byCapabilities,
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
			name:  "kernel interfaces by socket",
			fails: "the families and protocols that reach them are not on the list, or take capabilities",
			layer: byFilter,
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
	}
}
