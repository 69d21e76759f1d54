"""The zygote: an interpreter that forks for each run of user code and each kernel, and never
runs them itself. plugins/zygote.go describes the protocol and the reasons.

It forks ahead: a spare waits for each request, and the next spare is forked while that one
runs. The zygote, or else the spare, does all work that needs no request. The cost of a
fork is the copy of each page that the child writes to. A minimal rehearsed run finds
these pages once (memory.py).

The zygote imports only modules that every interpreter has loaded, two modules in C whose
names no user's module has, and the modules that it is told to preload: a run looks
like a fresh interpreter that has imported these.
"""

import atexit
import gc
import io
import os
import sys

import _ctypes
import _socket
import _thread
import resource

HERE = os.path.dirname(os.path.abspath(__file__))
ASKED = 3  # descriptor of the socket
PR_SET_DUMPABLE = 4
MAX_PACKET = 256 << 10
MAX_FDS = 32
PyCF_ONLY_AST = 0x400  # as ast has it
PROGRAMS = {"ipykernel": "jupyter.py", "ipython": "ipython.py"}  # of the kernels that a template can choose
TPFLAGS_HAVE_GC = 1 << 14


def condition():
    """The state that other processes of the user can change and runs would inherit."""
    return [resource.getrlimit(number) for number in LIMITS], os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.sched_getscheduler(0)


def serve():
    """Returns in each process that becomes a run, with the run's arguments."""
    before = condition()
    gc.collect()
    gc.freeze()
    arguments, used = None, []
    try:
        arguments, used = rehearse(before)
    except OSError:  # no process left, or tracing is forbidden
        if os.getpid() != SELF_PID:
            raise
    if arguments is not None:
        return arguments
    if PRCTL(PR_SET_DUMPABLE, 0) != 0:
        os._exit(1)
    asked = _socket.socket(fileno=ASKED)
    os.write(1, b"ready")
    ran = bool(PRELOADED)  # many zygotes fork only one kernel, which uses fewer pages
    while True:
        ours, theirs = _socket.socketpair()
        forked = fork()
        if forked is None:
            ours.close()
            if ran:
                populate(used)
            return become(*await_request(asked, theirs, before))
        theirs.close()
        if not forked:
            refuse(asked)
        elif answer(ours) == b"r":
            ran = True
        ours.close()


def rehearse(before):
    """Has a child rehearse a run from its request to its end and returns the memory that it
    has used; in the child, the run's arguments. No user code can reach the child yet."""
    asking, asked = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    line, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    ours, zygote = _socket.socketpair()
    child = os.fork()
    if child == 0:
        for end in (asking, line, ours):
            end.close()
        return become(*await_request(asked, zygote, before)), None
    zygote.close()
    if not trace(child):
        ours.close()
        os.waitpid(child, 0)
        return None, []
    argv = sys.executable, os.path.join(HERE, "harness.py"), os.path.join(HERE, "spec.json")
    fields = [b"1", b"/", b"3"] + [os.fsencode(argument) for argument in argv]
    fields += [b"%s=%s" % item for item in os.environb.items()]
    null = os.open(os.devnull, os.O_RDWR)
    fds = packed([theirs.fileno()] + [null] * 4)
    asking.sendmsg([b"\0".join(fields)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    os.close(null)
    answer(ours)
    line.send(b"g")
    return None, used_at_end(child)


def await_request(asked, zygote, before):
    """Waits in an orphaned spare for one request and tells the zygote of it by the socket
    zygote, on which the zygote has confirmed that this process is an orphan."""
    reseed()
    sys.modules.copy()  # writes to every module, as leave_rest does
    for name in list(os.environb):
        del os.environb[name]
    if zygote.recv(1) != b"o":
        os._exit(1)  # the zygote has ended
    packet, fds, flags = request(asked)
    if not fds:  # the host asks the zygote to end
        zygote.send(b"e")
        os._exit(0)
    if condition() != before:
        zygote.send(b"e")
        os._exit(1)
    if flags & (_socket.MSG_TRUNC | _socket.MSG_CTRUNC):
        os._exit(1)
    zygote.sendmsg([b"k" if is_kernel(packet) else b"r"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed(fds[:1]))])
    zygote.close()
    asked.detach()
    return packet, fds


def is_kernel(packet):
    return any(b"/%s\0" % name in packet for name in (b"kernel.py", b"jupyter.py", b"ipython.py"))


def answer(spare):
    """Returns once another spare is needed: the spare has taken a request or has ended. Returns
    "r" if it becomes a run, "k" if a kernel."""
    try:
        spare.send(b"o")
        word, ancillary, _, _ = spare.recvmsg(1, _socket.CMSG_SPACE(4))
    except OSError:
        return b""
    if word == b"e":
        os._exit(0)
    for line in received(ancillary):
        say(line, b"o")
        os.close(line)
    return word


def refuse(asked):
    """Waits for a request and refuses it, as no process is left."""
    _, fds, _ = request(asked)
    if not fds:
        os._exit(0)
    say(fds[0], b"n")
    for fd in fds:
        os.close(fd)


def request(asked):
    """Returns the next request. A packet "p" asks for the serving process and is sent
    back: the kernel adds its sender's credentials."""
    while True:
        packet, ancillary, flags, _ = asked.recvmsg(MAX_PACKET, _socket.CMSG_SPACE(4 * MAX_FDS))
        if packet[:1] != b"p":
            return packet, received(ancillary), flags
        asked.send(packet)


def say(line, word):
    try:
        os.write(line, word)
    except OSError:  # the reader has gone
        pass


def received(ancillary):
    fds = []
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds += memoryview(data[: len(data) // 4 * 4]).cast("i").tolist()
    return fds


def packed(fds):
    return b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)


def fork():
    """Returns None in the new orphan; in the zygote, whether the fork succeeded."""
    try:
        middle = os.fork()
        if middle == 0:
            if os.fork() == 0:
                return None
            os._exit(0)
        return os.waitpid(middle, 0)[1] == 0
    except OSError:  # no process left
        if os.getpid() != SELF_PID:
            os._exit(1)
        return False


def become(packet, fds):
    """Makes this process like a fresh one and returns its arguments."""
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
    for entry in environment:
        name, _, value = entry.partition(b"=")
        os.environb[name] = value
    if not same_site() or shadowed():
        os.write(line, b"n")
        os._exit(0)
    PRCTL(PR_SET_DUMPABLE, 1)
    os.write(line, b"r")
    if os.read(line, 1) != b"g":
        os._exit(0)
    os.close(line)
    return [os.fsdecode(argument) for argument in argv]


def same_site():
    """Whether a fresh interpreter would find the same packages: if the user has own
    packages, it reads their files when it starts."""
    site = sys.modules.get("site")
    if site is None or not site.ENABLE_USER_SITE:
        return True
    site.USER_SITE = site.USER_BASE = None
    return not os.path.isdir(site.getusersitepackages())


def preload(kernel, names):
    """Imports the modules and the kernel's needs and returns the top-level names of all that
    came with them. Their output goes to the log."""
    if not kernel and not names:
        return set()
    before = set(sys.modules)
    script, stdout = sys.path.pop(0), os.dup(1)
    os.dup2(2, 1)
    ahead = {}
    exec(program("ahead.py"), ahead)
    ahead["prepare"](kernel, names)
    if kernel == "ipython":
        prepare_shell()
    os.dup2(stdout, 1)
    os.close(stdout)
    sys.path.insert(0, script)
    if len(os.listdir("/proc/self/task")) > 1:
        sys.exit("the preloaded modules start threads, which a fork does not have: %s" % " ".join(names))
    return {name.partition(".")[0] for name in set(sys.modules) - before}


def prepare_shell():
    """Has the template's kernel make its shell ahead. A failure is reported when the kernel starts."""
    global CHOSEN_MODULE
    module = type(sys)("yurt_ipython")
    try:
        exec(CHOSEN_PROGRAM, module.__dict__)
        module.prepare()
        CHOSEN_MODULE = module
    except ImportError:
        pass


def shadowed():
    """Whether a fresh interpreter would import a user's file instead of a module that
    is preloaded here."""
    for name in os.listdir(".") if PRELOADED else ():
        stem, _, rest = name.partition(".")
        if stem in PRELOADED and (not rest or rest.endswith(("py", "pyc", "so"))):
            return True
    return False


def reseed():
    """Seeds the random generators that do not notice a fork themselves."""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()


def calls():
    """prctl(2) and exit(3), without the module ctypes."""
    prctl, end = _ctypes.dlsym(LIBRARY, "prctl"), _ctypes.dlsym(LIBRARY, "exit")
    return lambda option, value: _ctypes.call_function(prctl, (option, value, 0, 0, 0)), lambda code: _ctypes.call_function(end, (code,))


def orphan():
    """Returns in each run's process, with its arguments."""
    try:
        return serve()
    except BaseException:
        if os.getpid() == SELF_PID:
            raise
        os._exit(1)


class Rest:
    """The modules that the zygote loaded. At its end, Python frees them object by object: useless
    in a process that ends, and it copies every page that the zygote has filled. A run ends like
    any interpreter but leaves them alone, unless they hold an object of the run with a
    finalizer. The zygote's own objects have no finalizer with an effect."""

    def __init__(self, modules):
        self.modules = modules

    def __del__(self):
        """Python calls this after it has freed the run's own modules, and then goes on."""
        try:
            if not any_finalizer(self):
                EXIT(STATUS & 0xFF)  # exit(3) flushes C's streams and ends libraries
        except BaseException:
            pass
        for module in reversed(list(self.modules.values())):
            if isinstance(module, type(sys)):
                take_apart(module)


def any_finalizer(besides):
    """Whether an object with a finalizer is left. gc does not list objects from before the fork,
    which are frozen, nor objects without references; the classes of these it lists."""
    for thing in gc.get_objects():
        if thing is not besides and hasattr(type(thing), "__del__"):
            return True
        if issubclass(type(thing), type) and not thing.__flags__ & TPFLAGS_HAVE_GC and hasattr(thing, "__del__"):
            return True
    return False


def take_apart(module):
    """Clears a module that is still in use, as Python does at its end."""
    names = module.__dict__
    for private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (name[:1] == "_" and name[1:2] != "_") == private:
                names[name] = None


def leave_rest():
    """Runs last at the interpreter's end, as it was registered first."""
    try:
        if STATUS is None or _thread._count() or not REST or sys.stdout is not STREAMS[0] or sys.stderr is not STREAMS[1]:
            return
        for stream in STREAMS:
            stream.flush()  # if it fails, Python notices and exits with 120
    except Exception:
        return
    modules = sys.modules.copy()
    _ctypes.Py_INCREF(modules)  # for ever
    own = [name for name, module in modules.items() if REST.get(name) != id(module)]
    sys.modules.clear()
    for name in own:
        sys.modules[name] = modules.pop(name)
    sys._rest = Rest(modules)


def rest():
    """The modules that runs leave alone, by name; empty if a finalizer would be missed."""
    for thing in gc.get_objects():
        end = getattr(type(thing), "__del__", None)
        if end is not None and not isinstance(thing, HARMLESS) and type(thing).__name__ not in OURS_TO_END:
            return {}
    return {name: id(module) for name, module in sys.modules.items() if name not in ("__main__", "builtins", "sys")}


def program(name, parts=slice(None), of=None):
    """Compiles statements of a file under the name of the program that includes it."""
    path = os.path.join(HERE, of or name)
    with open(os.path.join(HERE, name), "rb") as file:
        tree = compile(file.read(), path, "exec", PyCF_ONLY_AST, dont_inherit=True)
    tree.body = tree.body[parts]
    return compile(tree, path, "exec", dont_inherit=True)


def prepare_harness():
    """Returns the harness as a module in which all but its last statement, the call of
    main, has run."""
    module = type(sys)("__main__")
    module.__builtins__, module.__file__ = __builtins__, __file__
    exec(program("harness.py", slice(-1)), module.__dict__)
    module.HARNESS = module
    return module


def run_harness():
    """Runs the user's code as a run does."""
    global STATUS
    sys.modules["__main__"] = HARNESS
    HARNESS.__file__ = sys.argv[0]
    try:
        HARNESS.main()
    except SystemExit as end:
        STATUS = end.code
        raise


def run_kernel():
    """Becomes Yurt's kernel."""
    buffer()
    exec(KERNEL_PROGRAM, globals())


def run_chosen():
    """Becomes the template's kernel: a program that imports kernel.py."""
    buffer()
    ours = type(sys)("kernel")
    ours.AHEAD = AHEAD
    ours.__file__ = os.path.join(sys.path.pop(0), "kernel.py")
    sys.modules["kernel"] = ours
    exec(KERNEL_PROGRAM, ours.__dict__)
    if CHOSEN_MODULE is not None:
        CHOSEN_MODULE.begin(sys.modules.pop("kernel"))
    theirs = sys.modules["__main__"] = type(sys)("__main__")
    theirs.__file__ = __file__
    exec(CHOSEN_PROGRAM, theirs.__dict__)


def buffer():
    """Buffers the streams: a kernel's are buffered, a run's are not."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = open(number, "w", encoding="utf-8", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)


SELF_PID = os.getpid()
STATUS = None  # of a run that has come to its end
STREAMS = sys.stdout, sys.stderr
HARMLESS = type(item for item in ()), io.TextIOWrapper, io.BufferedReader, io.FileIO, io.BytesIO
OURS_TO_END = "HistoryManager", "ResourceTracker"  # of IPython and joblib: they finalize threads and files of this process
LIBRARY = _ctypes.dlopen(None, 0)
PRCTL, EXIT = calls()
LIMITS = sorted(value for name, value in vars(resource).items() if name.startswith("RLIMIT_"))
atexit.register(leave_rest)
exec(program("memory.py"))
del sys.modules["resource"], sys.modules["atexit"]
CHOSEN = sys.argv[1]  # the kernel that the template chooses; empty for ours
CHOSEN_PROGRAM, CHOSEN_MODULE = program(PROGRAMS[CHOSEN]) if CHOSEN else None, None
PRELOADED = preload(CHOSEN, sys.argv[2:])
HARNESS, KERNEL_PROGRAM = prepare_harness(), program("kernel.py")
# The files that a kernel reads to show its first figure.
AHEAD = {name: program(name, of="kernel.py") for name in ("pretty.py", "rich.py", "charts.py") if CHOSEN == "ipython" or "matplotlib" in sys.modules}
ZYGOTE = sys.modules["__main__"]  # keeps what leave_rest needs alive
REST = rest()
sys.orig_argv = orphan()
sys.argv = sys.orig_argv[1:]
__file__ = sys.argv[0]
sys.path[0], NAME = os.path.split(__file__)
if NAME == "kernel.py":
    run_kernel()
elif NAME in PROGRAMS.values():
    run_chosen()
else:
    run_harness()
