package attack

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestSocketsThatInitKeeps: sockets of netlink, and queues of connections, are as many as a sandbox may have,
// whichever process holds them, and work like any others.
func TestSocketsThatInitKeeps(t *testing.T) {
	layers := func(s *yurt.SandboxSpec) { s.Template.Isolation.PerExecution = true }
	for name, change := range map[string]func(*yurt.SandboxSpec){"one layer": nil, "per execution": layers} {
		t.Run(name, func(t *testing.T) {
			a := newArena(t)
			if change == nil {
				change = func(*yurt.SandboxSpec) {}
			}
			sandbox := a.create(t, change)
			for name, code := range socketPrograms() {
				t.Run(name, func(t *testing.T) {
					held(t, a.execute(t, sandbox, program(code)))
				})
			}
			a.works(t, "the sandbox", sandbox)
		})
	}
}

// untilRefused declares more, which makes sockets until the kernel refuses one, and returns its reason.
const untilRefused = `
kept = []
def more(*kind):
    try:
        while len(kept) < 600: kept.append(socket.socket(*kind))
    except OSError as e: return errno.errorcode[e.errno]
`

func socketPrograms() map[string]string {
	return map[string]string{
		"addresses are read": `
assert [name for _, name in socket.if_nameindex()] == ['lo'], socket.if_nameindex()
route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
route.bind((0, 0))
route.send(struct.pack('=IHHIIB3x', 20, 22, 0x301, 1, 0, 0))       # RTM_GETADDR, dump
assert struct.unpack_from('=IH', route.recv(8192))[1] == 20         # RTM_NEWADDR
assert not route.get_inheritable() and route.getblocking()
route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
assert not os.get_blocking(route.fileno())
`,
		"made while orphans end, of which init gets signals": `
end = time.time() + 2
def orphans():
    while time.time() < end:
        pid = os.fork()
        if pid == 0:
            for _ in range(3):
                if os.fork() == 0: break
            os._exit(0)
        os.waitpid(pid, 0)
for _ in range(2):
    if os.fork() == 0: orphans(); os._exit(0)
wrong = []
def make():
    while time.time() < end:
        fd = libc.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        if stat.S_ISSOCK(os.fstat(fd).st_mode): os.close(fd)
        else: wrong.append(fd)
threads = [threading.Thread(target=make) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong, wrong
`,
		"no more of TCP than are counted": untilRefused + `
if ':memory:' in open('/proc/self/cgroup').read(): # version 2 charges them to the memory of the sandbox
    for domain in socket.AF_INET, socket.AF_INET6:
        for flag in 0, socket.SOCK_NONBLOCK: # beside SOCK_CLOEXEC, which Python sets by itself
            assert more(domain, socket.SOCK_STREAM | flag) == 'ENOBUFS' and len(kept) == 384, len(kept)
            while kept: kept.pop().close()
`,
		"no more of TCP than are counted, accepted": untilRefused + `
server = socket.create_server(('127.0.0.1', 0), backlog=64); address = server.getsockname()
try: socket.socket().sendto(b'x', 0x20000000, address); got('MSG_FASTOPEN') # which connects
except OSError as e: assert e.errno == errno.EOPNOTSUPP, e
bounded = ':memory:' in open('/proc/self/cgroup').read()
again = socket.socket()
try:
    while len(kept) < 600:
        again.connect(address); kept.append(server.accept()[0]); libc.connect(again.fileno(), bytes(16), 16)
except OSError as e: assert bounded and e.errno == errno.ENOBUFS, e
assert len(kept) == (384 - 2 if bounded else 600), len(kept) # beside the server and the client
one = socket.socket(socket.AF_UNIX)
while kept: kept.pop().close()
socket.create_connection(address)
`,
		"no more of TCP than are counted, by many threads": `
import threading
def hoard(say):
    server = socket.create_server(('127.0.0.1', 0), backlog=48); server.settimeout(1); kept = [server]
    def until_refused(take):
        try:
            while len(kept) < 600: kept.append(take())
        except OSError: pass
    accept = lambda: server.accept()[0]
    connect = lambda: socket.create_connection(server.getsockname(), 1)
    threads = [threading.Thread(target=until_refused, args=(take,)) for take in [accept] * 2 + [connect] * 4]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    os.write(say, struct.pack('i', len(kept))); time.sleep(100)
hear, say = os.pipe(); children = []
for _ in range(2):
    child = os.fork()
    if child == 0: hoard(say)
    children.append(child)
held = sum(struct.unpack('i', os.read(hear, 4))[0] for _ in children)
bounded = ':memory:' in open('/proc/self/cgroup').read()
assert 300 < held <= 384 if bounded else held > 384, held
for child in children: os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
`,
		"no more than sixteen": untilRefused + `
netlink = socket.AF_NETLINK, socket.SOCK_RAW, 0
assert more(*netlink) == 'ENOBUFS' and len(kept) == 16, len(kept)
# Passed to a child, in a message that no process has taken, inherited: they count.
one, other = socket.socketpair()
socket.send_fds(one, [b'x'], [s.fileno() for s in kept[:8]])
for s in kept[:8]: s.close()
def in_a_child():
    for s in kept[8:]: s.detach()
    try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    except OSError as e: os._exit(0 if e.errno == errno.ENOBUFS else 3)
    os._exit(4)
status = in_child(in_a_child)
assert os.waitstatus_to_exitcode(status) == 0, status
# Those that are closed make room.
one.close(); other.close()
kept = kept[8:]
assert more(*netlink) == 'ENOBUFS' and len(kept) == 16, len(kept)
while kept: kept.pop().close()
assert more(*netlink) == 'ENOBUFS' and len(kept) == 16, len(kept)
`,
		"refusals that do not last": untilRefused + `
for kind, bounded in ((socket.AF_NETLINK, socket.SOCK_RAW, 0), True), ((socket.AF_INET, socket.SOCK_STREAM), ':memory:' in open('/proc/self/cgroup').read()):
    if not bounded: continue
    assert more(*kind) == 'ENOBUFS'
    began = time.monotonic()
    for _ in range(50): fails('a socket', lambda: socket.socket(*kind))
    took = time.monotonic() - began
    if took > 3: got('50 refusals took', took)
    kept.pop().close(); kept.append(socket.socket(*kind)) # a socket that was closed makes room at once
    while kept: kept.pop().close()
`,
		"no other netlink": `
for protocol in range(1, 32):
    try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol); got('netlink', protocol)
    except PermissionError: pass
`,
		"listening": `
import threading
server = socket.create_server(('127.0.0.1', 0), backlog=100)
def serve():
    for _ in range(100):
        conn, _ = server.accept(); conn.sendall(conn.recv(10)); conn.close()
thread = threading.Thread(target=serve); thread.start()
clients = [socket.create_connection(server.getsockname()) for _ in range(20)]
for c in clients: c.sendall(b'x'); assert c.recv(1) == b'x'
for n in range(80):
    c = socket.create_connection(server.getsockname()); c.sendall(b'x'); assert c.recv(1) == b'x'; c.close()
thread.join()
server.listen(5)
six = socket.create_server(('::1', 0), family=socket.AF_INET6)
socket.create_connection(six.getsockname()[:2])
unix_server = socket.socket(socket.AF_UNIX); unix_server.bind('/tmp/socket'); unix_server.listen(1)
client = socket.socket(socket.AF_UNIX); client.connect('/tmp/socket')
pid, uid, gid = struct.unpack('3i', client.getsockopt(socket.SOL_SOCKET, 17, 12))
assert (uid, gid) == (os.getuid(), os.getgid()), (pid, uid, gid)
os.unlink('/tmp/socket')
def in_a_thread(): listening.append(socket.create_server(('127.0.0.1', 0)))
listening = []; thread = threading.Thread(target=in_a_thread); thread.start(); thread.join()
assert listening
for call in (lambda: libc.listen(99, 1), lambda: libc.listen(0, 1), lambda: libc.listen(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).fileno(), 1)):
    assert call() == -1
    assert ctypes.get_errno() in (errno.EBADF, errno.ENOTSOCK, errno.EOPNOTSUPP), ctypes.get_errno()
`,
		"a bounded number of queues": `
servers = []
try:
    while len(servers) < 1000: servers.append(socket.create_server(('127.0.0.1', 0), backlog=4096))
except OSError as e: assert e.errno == errno.ENOBUFS, e
assert 40 <= len(servers) <= 48, len(servers)
waiting, clients = 0, []
for server in servers:
    for _ in range(200):
        client = socket.socket(); client.settimeout(0.05)
        try: client.connect(server.getsockname()); waiting += 1; clients.append(client)
        except TimeoutError: break
assert waiting <= 64 + 48, waiting
`,
	}
}
