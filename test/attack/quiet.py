# Records the files that a sandbox can read, once a second, and prints those that changed: a line each, with the
# different values. Its own work is the same all the time, so that a change has another cause.
import json

# Files that change by themselves, each with its reason.
OWN = {
    '/proc/sys/kernel/random/uuid': 'another one with each read',
    '/proc/self/auxv': 'random bytes of the process',
    '/proc/self/environ': 'no figure of a kernel', '/proc/self/arch_status': 'time of the process',
    '/proc/self/stat': 'time and memory of the process', '/proc/self/statm': 'the same', '/proc/self/status': 'the same',
    '/proc/self/sched': 'the same', '/proc/self/schedstat': 'the same', '/proc/self/io': 'the same', '/proc/self/wchan': 'the same',
    '/proc/self/stack': 'the same', '/proc/self/syscall': 'the same', '/proc/self/maps': 'the same', '/proc/self/oom_score': 'the same',
    '/proc/self/smaps': 'pages of the page cache that others map too, see docs/SECURITY.md',
    '/proc/self/smaps_rollup': 'the same', '/proc/self/numa_maps': 'the same', '/proc/self/pagemap': 'addresses', '/proc/self/clear_refs': 'is written',
    '/proc/self/mem': 'the memory of the process', '/proc/self/ksm_stat': 'the same',
}
# Directories about this process itself.
OWN_DIRS = ('/proc/self/task', '/proc/self/fd', '/proc/self/fdinfo', '/proc/self/map_files', '/proc/self/cwd', '/proc/self/root', '/proc/self/attr')


def record(where, into):
    try:
        names = os.listdir(where)
    except OSError as e:
        into[where] = 'error ' + errno.errorcode[e.errno]
        return
    for name in names:
        path = where + '/' + name
        if path in OWN or path in OWN_DIRS or where == '/proc' and (name.isdigit() or name == 'thread-self'):
            continue
        try:
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode) and path != '/proc/self':
                continue
            if stat.S_ISDIR(mode) or path == '/proc/self':
                record(path, into)
                continue
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                into[path] = os.read(fd, 1 << 20).decode('latin1')
            finally:
                os.close(fd)
        except OSError as e:
            into[path] = 'error ' + errno.errorcode[e.errno]


def snapshot():
    into = {}
    for where in ('/proc', '/sys'): record(where, into)
    with open('/proc/self/mountinfo') as mounts: places = [line.split()[4] for line in mounts]
    for place in places:
        if place.startswith('/proc/'): continue
        f = os.statvfs(place)
        into['statvfs ' + place] = repr((f.f_blocks, f.f_bfree, f.f_bavail, f.f_files, f.f_ffree))
    return into


def watch(seconds):
    """Prints the names of all files that took more than one value, and then the number of files."""
    values, end = {}, time.time() + seconds
    while time.time() < end:
        for name, value in snapshot().items():
            values.setdefault(name, {})[value] = True
        time.sleep(0.5)
    for name, seen in sorted(values.items()):
        if len(seen) > 1: got(name, [value[:200] for value in seen][:3])
    return len(values)
