"""An interpreter that waits, and forks for each run of user code and each kernel, which it
never runs itself. What it does and why is in plugins/zygote.go.

    python3 zygote.py [MODULE…]

It imports nothing that an interpreter has not loaded anyway but two modules in C, whose
names no user's module has, and the modules that it is told to: a run finds what a fresh
interpreter would find that has imported these.
"""

import gc
import os
import sys

import _ctypes
import _socket
import resource

HERE = os.path.dirname(os.path.abspath(__file__))
ASKED = 3  # descriptor of the socket
PR_SET_DUMPABLE = 4
MAX_PACKET = 256 << 10
MAX_FDS = 32


def condition():
    """What other processes of the user can change of this one, and runs would inherit."""
    return [resource.getrlimit(number) for number in LIMITS], os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.sched_getscheduler(0)


def serve(prctl):
    """Returns in a process that is to become a run, with what was asked for."""
    asked = _socket.socket(fileno=ASKED)
    before = condition()
    gc.collect()
    gc.freeze()
    os.write(1, b"ready")
    while True:
        packet, ancillary, flags, _ = asked.recvmsg(MAX_PACKET, _socket.CMSG_SPACE(4 * MAX_FDS))
        fds = received(ancillary)
        if not fds:
            os._exit(0)
        if condition() != before:
            os._exit(1)
        if not flags & (_socket.MSG_TRUNC | _socket.MSG_CTRUNC) and fork(fds[0]):
            asked.detach()
            return become(packet, fds, prctl)
        for fd in fds:
            os.close(fd)


def received(ancillary):
    fds = []
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds += memoryview(data[: len(data) // 4 * 4]).cast("i").tolist()
    return fds


def fork(line):
    """Returns True in an orphan, once it is about to be one."""
    try:
        middle = os.fork()
        if middle == 0:
            if os.fork() == 0:
                return True
            os._exit(0)
        ended = os.waitpid(middle, 0)[1]
        os.write(line, b"o" if ended == 0 else b"n")
    except OSError:  # no process to be had, or nobody listens any more
        if os.getpid() != SELF_PID:
            os._exit(1)
    return False


def become(packet, fds, prctl):
    """Makes this process what a fresh one would be, and returns its arguments."""
    control, directory, count, *rest = packet.split(b"\0")
    line, count = fds[0], int(count)
    argv, environment = rest[:count], rest[count:]
    streams = 4 if control == b"1" else 3
    for file in fds[1 + streams :]:
        os.write(file, b"0")
    os.close(ASKED)
    for number, fd in enumerate(fds[1 : 1 + streams]):
        os.dup2(fd, number)
    for fd in fds[1:]:
        os.close(fd)
    os.setsid()
    os.chdir(directory)
    for name in list(os.environb):
        del os.environb[name]
    for entry in environment:
        name, _, value = entry.partition(b"=")
        os.environb[name] = value
    if not same_site() or shadowed():
        os.write(line, b"n")
        os._exit(0)
    reseed()
    prctl(PR_SET_DUMPABLE, 1)
    os.write(line, b"r")
    if os.read(line, 1) != b"g":
        os._exit(0)
    os.close(line)
    return [os.fsdecode(argument) for argument in argv]


def same_site():
    """Whether a fresh interpreter would find the packages that this one finds: one with
    packages of the user's own reads files of theirs when it starts."""
    site = sys.modules.get("site")
    if site is None or not site.ENABLE_USER_SITE:
        return True
    site.USER_SITE = site.USER_BASE = None
    return not os.path.isdir(site.getusersitepackages())


def preload(names):
    """Imports the modules, and returns the names at the top of all that came with them.
    What they say while they are imported is for the log."""
    before = set(sys.modules)
    script, stdout = sys.path.pop(0), os.dup(1)
    os.dup2(2, 1)
    for name in names:
        __import__(name)
    os.dup2(stdout, 1)
    os.close(stdout)
    sys.path.insert(0, script)
    if len(os.listdir("/proc/self/task")) > 1:
        sys.exit("what is to be imported ahead starts threads, which a fork does not have: %s" % " ".join(names))
    return {name.partition(".")[0] for name in set(sys.modules) - before}


def shadowed():
    """Whether a fresh interpreter would import a file of the user's where this one has
    imported a module ahead."""
    for name in os.listdir(".") if PRELOADED else ():
        stem, _, rest = name.partition(".")
        if stem in PRELOADED and (not rest or rest.endswith(("py", "pyc", "so"))):
            return True
    return False


def reseed():
    """Has the generators of random numbers begin anew that do not see to it themselves."""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()


def calls():
    """prctl(2), without the module ctypes."""
    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")
    return lambda option, value: _ctypes.call_function(function, (option, value, 0, 0, 0))


def orphan():
    """Returns the arguments of a run, in its process."""
    prctl = calls()
    if prctl(PR_SET_DUMPABLE, 0) != 0:
        os._exit(1)
    try:
        return serve(prctl)
    except BaseException:
        if os.getpid() == SELF_PID:
            raise
        os._exit(1)


def program(name):
    path = os.path.join(HERE, name)
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def buffer():
    """Has the streams buffered, as those of a kernel are and those of a run are not."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = open(number, "w", encoding="utf-8", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)


SELF_PID = os.getpid()
LIMITS = sorted(value for name, value in vars(resource).items() if name.startswith("RLIMIT_"))
del sys.modules["resource"]
PRELOADED = preload(sys.argv[1:])
PROGRAMS = {name: program(name) for name in ("harness.py", "kernel.py")}
sys.orig_argv = orphan()
sys.argv = sys.orig_argv[1:]
__file__ = sys.argv[0]
sys.path[0], NAME = os.path.split(__file__)
if NAME == "kernel.py":
    buffer()
exec(PROGRAMS[NAME])
