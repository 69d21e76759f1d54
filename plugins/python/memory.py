"""Part of fork.py: which memory a process has used when it ends, and how another one, forked
from the same interpreter, has it before it is needed.

A page that is written to for the first time after a fork is copied, and one of a file is
looked up. Each is an interruption, of which a run that ends with many libraries has a thousand.
"""

PTRACE_CONT, PTRACE_SEIZE, PTRACE_EVENT_EXIT = 7, 0x4206, 6
PTRACE_O_TRACEEXIT, PTRACE_O_EXITKILL = 1 << 6, 1 << 20
MADV_POPULATE_READ, MADV_POPULATE_WRITE = 22, 23
PAGE_PRESENT, PAGE_OF_FILE, PAGE_EXCLUSIVE = 1 << 63, 1 << 61, 1 << 56  # in /proc/PID/pagemap
PAGE = resource.getpagesize()
MAX_MAPPING = (1 << 30) // PAGE  # pages; of one that is larger, nearly all is only reserved
PTRACE, MADVISE = _ctypes.dlsym(LIBRARY, "ptrace"), _ctypes.dlsym(LIBRARY, "madvise")


class Long(_ctypes._SimpleCData):
    _type_ = "l"


def trace(child):
    """Has a child stop when it ends, and killed if this process ends; returns whether it will."""
    return ptrace(PTRACE_SEIZE, child, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL) == 0


def ptrace(request, child, data):
    return _ctypes.call_function(PTRACE, (request, child, Long(0), Long(data)))


def used_at_end(child):
    """Waits for the end of a traced child, and returns the memory that it has used and that
    was not here before, as populate takes it."""
    _, status = os.waitpid(child, 0)
    used = used_now(child) if status >> 16 == PTRACE_EVENT_EXIT else []
    if os.WIFSTOPPED(status):
        os.kill(child, 9)  # wherever it stopped
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
    """Adds what a mapping has that begins with page first: those after each other together."""
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
    """Brings pages into this process. What is not mapped here is passed over."""
    for arguments in used:
        _ctypes.call_function(MADVISE, arguments)
