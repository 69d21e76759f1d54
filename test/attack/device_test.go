package attack

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestDevices attack through a device that the sandbox was given.
func TestDevices(t *testing.T) {
	own, _ := testutil.LoopDevice(t, "own")
	fixed, _ := testutil.LoopDevice(t, "fixed")
	testutil.LoopDevice(t, "of somebody else")
	wage(t, deviceAttacks(own, fixed))
}

// deviceAttacks go through a device that was given.
func deviceAttacks(own, fixed string) []attack {
	given := func(s *yurt.SandboxSpec) {
		s.Host = &yurt.HostAccess{Devices: []yurt.Device{
			{Source: own, Target: "/dev/given/own", Access: yurt.DeviceReadWrite}, {Source: fixed, Target: "/dev/fixed", Access: yurt.DeviceRead},
		}}
	}
	return []attack{
		{
			name:    "other nodes than the one that was given",
			fails:   "nodes are made from outside alone, in a file system that cannot be written to, and the cgroup allows this one more",
			layer:   byDevices,
			sandbox: given,
			program: `
have = os.stat('/dev/given/own').st_rdev
os.close(os.open('/dev/given/own', os.O_RDWR))
for number in [have] + [os.makedev(7, n) for n in range(8)] + [os.makedev(8, 0), os.makedev(254, 0)]:
    for where in ('/tmp', '/workspace', '/dev/shm', '/dev', '/dev/given', '/run/yurt'):
        fails(where, lambda: os.mknod(where + '/node', 0o666 | stat.S_IFBLK, number))
        fails(where, lambda: os.mknod(where + '/node', 0o666 | stat.S_IFCHR, os.makedev(1, 1)))
nodes = [os.path.join(at, n) for at, _, names in os.walk('/dev') for n in names if stat.S_ISBLK(os.lstat(os.path.join(at, n)).st_mode)]
if sorted(nodes) != ['/dev/fixed', '/dev/given/own']: got(nodes)
for name in ('loop0', 'loop1', 'loop-control', 'mem', 'kmsg', 'fuse', 'kvm'): fails(name, lambda: os.open('/dev/' + name, os.O_RDONLY))
for path in ('/dev/given/own', '/dev/fixed'):
    fails(path, lambda: os.rename(path, '/dev/other'))
    fails(path, lambda: os.unlink(path))
    fails(path, lambda: os.link(path, '/workspace/link'))
    fails(path, lambda: os.chmod(path, 0o777))
    refused('mount', path.encode(), b'/workspace', b'ext4', 0, 0)
`,
		},
		{
			name:    "writing to a read-only device",
			fails:   "the node's mode, the rules for files and the cgroup each allow reading alone",
			layer:   byDevices,
			sandbox: given,
			program: `
import fcntl
fd = os.open('/dev/fixed', os.O_RDONLY)
if os.read(fd, 5) != b'fixed': got('not what is there')
for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC):
    fails(flags, lambda: os.open('/dev/fixed', flags))
    fails(flags, lambda: os.open('/proc/self/fd/%d' % fd, flags))
fails('write', lambda: os.write(fd, b'x'))
for request in (0x125d, 0x4c00, 0x4c06, 0x4c04): fails(hex(request), lambda: fcntl.ioctl(fd, request, bytes(256)))  # BLKROSET, LOOP_SET_FD, LOOP_CHANGE_FD, LOOP_SET_STATUS64
`,
		},
	}
}
