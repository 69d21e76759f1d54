package attack

import "testing"

// TestEscapes try to leave the sandbox's namespaces and root, or to see beyond them.
func TestEscapes(t *testing.T) {
	wage(t, escapes())
}

// escapes are ways out of the sandbox's namespaces and root.
func escapes() []attack {
	return []attack{
		{
			name:  "writing to the binary of init and of the runtime (CVE-2019-5736)",
			fails: "the binary that makes sandboxes is a sealed copy in memory and is gone when user code begins; that of init is on a read-only file system, and cannot be read",
			layer: byMounts,
			program: `
for path in ('/proc/self/exe', '/proc/1/exe', '/.yurt-init', '/usr/bin/python3', '/proc/self/root/.yurt-init'):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        fails(path, lambda: os.open(path, flags))
fails('reading init', lambda: os.open('/.yurt-init', os.O_RDONLY))
for path in ('/.yurt-init', '/bin', '/usr/bin/python3'):
    fails('removing', lambda: os.unlink(path))
    fails('renaming', lambda: os.rename(path, '/tmp/x'))
`,
		},
		{
			name:  "descriptors that were left open (CVE-2024-21626)",
			fails: "a process begins with only its own stdin, stdout and stderr",
			layer: byInit,
			program: `
for fd in os.listdir('/proc/self/fd'):
    try: target = os.readlink('/proc/self/fd/' + fd)
    except OSError: continue              # the one that lists
    if not (fd == '0' and target == '/dev/null' or fd in '12' and target.startswith('pipe:')): got(fd, target)
if os.getcwd() != '/workspace': got(os.getcwd())
`,
		},
		{
			name:  "files that only root may read, by a link",
			fails: "a link to another file system is impossible, and files of the host belong to another user",
			layer: byMounts,
			program: `
for path in ('/etc/passwd', '/usr/bin/su', '/.yurt-init', '/proc/self/mem'):
    for where in ('/tmp/link', '/workspace/link', os.path.dirname(path) + '/link'):
        fails(path, lambda: os.link(path, where))
for path in ('/etc/shadow', '/root', '/home', '/var', '/mnt', '/boot', '/opt', '/srv', '/lost+found', '/run/docker.sock', '/run/systemd'):
    fails(path, lambda: os.stat(path))
`,
		},
	}
}
