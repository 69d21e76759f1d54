package attack

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// attributes gives attacks on project quotas the constants of the kernel's headers, and prints at
// the end the workspace's attributes.
const attributes = `
import fcntl
GET, SET, GET_FLAGS, SET_FLAGS, INHERIT, INHERIT_FLAG = 0x801c581f, 0x401c5820, 0x80086601, 0x40086602, 0x200, 0x20000000
def on(path, request, arg):
    fd = os.open(path, os.O_RDONLY)
    try: return bytes(fcntl.ioctl(fd, request, arg))
    finally: os.close(fd)
def project(path):
    flags, _, _, number = struct.unpack('=IIII', on(path, GET, bytes(28))[:16])
    return number, flags & INHERIT
def attempt(path, number, flags):
    try: on(path, SET, struct.pack('=IIII', flags, 0, 0, number) + bytes(12))
    except OSError: pass
ours = project('/workspace')
if not ours[0] or not ours[1]: got('no project', ours)
os.mkdir('/workspace/d'); open('/workspace/f', 'w').close()
mine = ('/workspace', '/workspace/d', '/workspace/f')
`

// TestProjectQuotas are attacks on workspaces that are directories of the node's disk.
func TestProjectQuotas(t *testing.T) { testutil.OnQuotas(t, testProjectQuotas) }

func testProjectQuotas(t *testing.T, dir string) {
	config := testutil.Config(t, testutil.Build(t))
	config.StateDir, config.Transient = filepath.Join(dir, "state"), true
	arenaOf(t, testutil.Start(t, config)).wage(t, quotaAttacks(dir))
}

// quotaAttacks are attacks on a workspace that a quota bounds.
func quotaAttacks(dir string) []attack {
	onQuota := func(s *yurt.SandboxSpec) {
		s.Resources.DiskKind, s.Resources.Disk = yurt.DiskQuota, 4<<20
	}
	return []attack{
		{
			name:    "files given to another project, or to no project",
			fails:   "the kernel changes projects, and whether they are inherited, for processes of its first user namespace alone",
			layer:   byQuota,
			sandbox: onQuota,
			program: attributes + `
for path in mine:
    was = project(path)
    for number in (0, 1, ours[0] + 1, 2**32 - 1):
        for flags in (0, INHERIT): attempt(path, number, flags)
    attempt(path, was[0], was[1] ^ INHERIT)
    flags, = struct.unpack('=I', on(path, GET_FLAGS, bytes(4)))
    try: on(path, SET_FLAGS, struct.pack('=I', flags ^ INHERIT_FLAG))
    except OSError: pass
    if project(path) != was: got(path, was, project(path))
os.mkdir('/workspace/later')
if project('/workspace/later') != ours: got('a directory of', project('/workspace/later'))
`,
		},
		{
			name:    "another quota",
			fails:   "no call by which quotas are set or switched off is on the list",
			layer:   byFilter,
			sandbox: onQuota,
			program: attributes + `
limits = ctypes.create_string_buffer(struct.pack('=QQQQQQQQII', 2**40, 0, 0, 2**40, 0, 0, 0, 0, 5, 0))
fd = os.open('/workspace', os.O_RDONLY)
for command in (0x800008, 0x800003, 0x5801, 0x5802, 0x5804):
    refused('quotactl_fd', fd, command << 8 | 2, ours[0], limits)
    refused('quotactl', command << 8 | 2, b'/dev/loop0', ours[0], limits)
`,
		},
		{
			name:    "bytes that are not counted",
			fails:   "blocks are counted when they are taken, by whatever call, until they are free, and not when a name for them is",
			layer:   byQuota,
			sandbox: onQuota,
			program: attributes + `
LIMIT, files = 4 << 20, []
def fill(fd):
    files.append(fd) # and stay open
    try:
        while True: os.write(fd, bytes(1 << 16))
    except OSError: pass
def unnamed():
    fd = os.open('/workspace/d', os.O_RDWR | os.O_TMPFILE, 0o600); fill(fd)
def deleted():
    fd = os.open('/workspace/x', os.O_RDWR | os.O_CREAT); os.unlink('/workspace/x'); fill(fd)
def reserved():
    fd = os.open('/workspace/r', os.O_RDWR | os.O_CREAT); files.append(fd); os.posix_fallocate(fd, 0, 2 * LIMIT)
def beyond_the_end(): # FALLOC_FL_KEEP_SIZE
    fd = os.open('/workspace/k', os.O_RDWR | os.O_CREAT); files.append(fd)
    if libc.fallocate(fd, 1, ctypes.c_long(0), ctypes.c_long(2 * LIMIT)) == 0: got('blocks beyond the end')
def attributes_of_files():
    for i in range(2000): os.setxattr(os.open('/workspace/e%d' % i, os.O_CREAT), 'user.a', os.urandom(3000))
def long_links():
    for i in range(2000): os.symlink('/' + str(i) * 800, '/workspace/l%d' % i)
def holes(): # as large as they like, for what is in them is what counts
    fd = os.open('/workspace/h', os.O_RDWR | os.O_CREAT); files.append(fd); os.ftruncate(fd, 1 << 40)
    for i in range(2000): os.pwrite(fd, b'x', i << 20)
for way in (unnamed, deleted, reserved, beyond_the_end, attributes_of_files, long_links, holes):
    try: way()
    except OSError: pass
    s = os.statvfs('/workspace')
    if s.f_blocks * s.f_frsize > LIMIT: got('a larger disk', s)
    if (s.f_blocks - s.f_bfree) * s.f_frsize > LIMIT: got(way.__name__, s)
for fd in files: os.close(fd)
subprocess.run('rm -rf /workspace/*', shell=True)
`,
			check: func(t *testing.T, r *yurt.Result) {
				t.Helper()
				held(t, r)
				var fs unix.Statfs_t
				if err := unix.Statfs(dir, &fs); err != nil || int64(fs.Blocks-fs.Bfree)*fs.Bsize > 64<<20 {
					t.Errorf("of the node's disk %d blocks are left of %d, %v", fs.Bfree, fs.Blocks, err)
				}
			},
		},
		{
			name:    "all inodes of the node's disk",
			fails:   "a project has a limit of inodes too",
			layer:   byQuota,
			sandbox: onQuota,
			program: attributes + `
made = 0
try:
    for made in range(20000): os.mkdir('/workspace/d/%d' % made) if made % 2 else os.mkfifo('/workspace/d/%d' % made)
    got('20000 files')
except OSError: pass
if made > 1024: got(made)
subprocess.run('rm -rf /workspace/*', shell=True)
`,
		},
		{
			name:    "other files on that disk",
			fails:   "the directory is bound: its parent is the sandbox's root, and files are found by name alone",
			layer:   byMounts,
			sandbox: onQuota,
			program: attributes + `
if os.stat('/workspace/..').st_ino != os.stat('/').st_ino: got('the parent')
os.chdir('/workspace/d'); os.rmdir('/workspace/d')
if not os.path.samefile('../..', '/'): got('the parent of what is gone')
for kind in (1, 2): # FILEID_INO32_GEN, of the file system's root
    handle = ctypes.create_string_buffer(struct.pack('=IiII', 8, kind, 2, 0))
    refused('open_by_handle_at', os.open('/workspace', os.O_RDONLY), handle, 0)
`,
		},
		{
			name:    "a tree that cannot be removed",
			fails:   "the removal opens few directories at a time, and no mode stops it",
			layer:   byQuota,
			sandbox: onQuota,
			program: attributes + `
os.chdir('/workspace/d')
for i in range(400): os.mkdir('x'); os.mkdir('y', 0); os.chdir('x')
os.chmod('/workspace/d', 0)
`,
		},
	}
}
