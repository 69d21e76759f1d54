"""Part of fork.py: lists the memory that a process has used by its end, and populates it
ahead in another fork of the same interpreter.

After a fork, the first write to a page copies it, and the first read of a file's page maps
it. Each is a page fault, and a run with many libraries has a thousand of them.
"""

PTRACE_CONT, PTRACE_SEIZE, PTRACE_EVENT_EXIT = 7, 0x4206, 6
PTRACE_O_TRACEEXIT, PTRACE_O_EXITKILL = 1 << 6, 1 << 20
MADV_POPULATE_READ, MADV_POPULATE_WRITE = 22, 23
PAGE_PRESENT, PAGE_OF_FILE, PAGE_EXCLUSIVE = 1 << 63, 1 << 61, 1 << 56  # in /proc/PID/pagemap
PAGE = resource.getpagesize()
MAX_MAPPING = (1 << 30) // PAGE  # pages; larger mappings are mostly only reserved
PTRACE, MADVISE = _ctypes.dlsym(LIBRARY, "ptrace"), _ctypes.dlsym(LIBRARY, "madvise")


class Long(_ctypes._SimpleCData):
    _type_ = "l"


def trace(child):
    """Makes a child stop at its end, and die if this process ends; returns whether that worked."""
    return ptrace(PTRACE_SEIZE, child, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL) == 0


def ptrace(request, child, data):
    return _ctypes.call_function(PTRACE, (request, child, Long(0), Long(data)))


def used_at_end(child):
    """Waits for the end of a traced child and returns the memory that the child has used
    beyond this process's, as populate takes it."""
    _, status = os.waitpid(child, 0)
    used = used_now(child) if status >> 16 == PTRACE_EVENT_EXIT else []
    if os.WIFSTOPPED(status):
        os.kill(child, 9)
        ptrace(PTRACE_CONT, child, 0)
        os.waitpid(child, 0)
    return used


def used_now(child):
    used = []
    with open("/proc/%d/maps" % child) as maps, open("/proc/%d/pagemap" % child, "rb", 0) as pagemap:
        for line in maps:
            span, access = line.split(None, 2)[:2]
            first, end = [int(address, 16) // PAGE for address in span.split("-")]
            if access[0] == "r" and access[3] == "p" and end - first <= MAX_MAPPING:
                pagemap.seek(first * 8)
                collect(used, first, memoryview(pagemap.read((end - first) * 8)).cast("Q"))
    return used


def collect(used, first, entries):
    """Adds the pages of a mapping that begins at page first, adjacent pages together."""
    before = None
    for page, entry in enumerate(entries, first):
        advice = None
        if entry & PAGE_PRESENT and entry & PAGE_OF_FILE:
            advice = MADV_POPULATE_READ
        elif entry & PAGE_PRESENT and entry & PAGE_EXCLUSIVE:
            advice = MADV_POPULATE_WRITE
        if advice != before:
            if before is not None:
                used.append((Long(begin * PAGE), Long((page - begin) * PAGE), before))
            begin, before = page, advice
    if before is not None:
        used.append((Long(begin * PAGE), Long((page + 1 - begin) * PAGE), before))


def populate(used):
    """Brings pages into this process and skips those that it has not mapped."""
    for arguments in used:
        _ctypes.call_function(MADVISE, arguments)
