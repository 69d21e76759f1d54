"""The shell of get_ipython(), and the commands that it runs. Read when code first uses one of
them.

kernel.py sets the name host to itself.
"""

import _signal
import _string
import os
import posix
import sys
import time

host = None
INTERRUPT_GRACE = 0.5  # seconds from an interrupt of a command until it is killed
PAUSE = 0.005
PYTHONS = "python", "python3"


class UsageError(Exception):
    """A magic got arguments that it does not know."""


UsageError.__module__ = "builtins"  # tracebacks write its name alone


class Lines(list):
    """The value of `x = !command`: the lines of its output, with methods to select some."""

    @property
    def l(self):  # noqa: E743 as IPython calls it
        return list(self)

    list = l

    @property
    def n(self):
        return "\n".join(self)

    nlstr = n

    @property
    def s(self):
        return " ".join(self)

    spstr = s

    @property
    def p(self):
        from pathlib import Path

        return [Path(line) for line in self if os.path.exists(line)]

    paths = p

    def grep(self, pattern, prune=False, field=None):
        """The lines that match the pattern or function."""
        import re

        matches = pattern if callable(pattern) else lambda text: re.search(pattern, text, re.IGNORECASE)
        return type(self)(line for line in self if bool(matches(column(line, field))) != prune)

    def fields(self, *numbers):
        """These columns of each line."""
        split = [line.split() for line in self]
        if not numbers:
            return split
        return type(self)(" ".join(words[n] for n in numbers if -len(words) <= n < len(words)) for words in split)

    def sort(self, field=None, nums=False):
        """The lines in the order of a column, as text or as numbers."""

        def key(line):
            text = column(line, field)
            digits = "".join(c for c in text if c.isdigit())
            return int(digits or 0) if nums else text

        return type(self)(sorted(self, key=key))


Lines.__name__ = Lines.__qualname__ = "SList"


def column(line, field):
    if field is None:
        return line
    words = line.split()
    return words[field] if -len(words) <= field < len(words) else ""


def expand(text, names):
    """The text with values in place of {expression} and $name; unchanged if one has no value."""
    try:
        return "".join(pieces(text, names))
    except Exception:
        return text


def pieces(text, names):
    for literal, field, spec, conversion in _string.formatter_parser(text):
        yield dollars(literal, names)
        if field is not None:
            yield value_of(field, spec, conversion, names)


def value_of(field, spec, conversion, names):
    try:
        value, spec = eval(field + (":" + spec if spec else ""), names), ""
    except SyntaxError:  # the colon was not in a slice
        value = eval(field, names)
    value = {"r": repr, "s": str, "a": ascii}.get(conversion, lambda same: same)(value)
    return format(value, spec)


def dollars(text, names):
    """Replaces $name and $name.attribute; $$name becomes $name for the command."""
    before, mark, rest = text.partition("$")
    while mark:
        yield_escaped = rest.startswith("$")
        rest = rest[1:] if yield_escaped else rest
        size = 0
        while size < len(rest) and (rest[size].isalnum() or rest[size] in "_."):
            size += 1
        name, after = rest[:size], rest[size:]
        if yield_escaped:
            before += "$" + name
        elif name.partition(".")[0] in names and name.partition(".")[0].isidentifier():
            dots = name[len(name.rstrip(".")) :]  # they end a sentence
            before += str(eval(name.rstrip("."), names)) + dots
        else:
            before += "$" + name
        more, mark, rest = after.partition("$")
        before += more
    return before


def frame_at(depth):
    """The frame of the user's code that many frames above the caller."""
    frame = sys._getframe(depth + 1)
    while frame.f_code.co_filename == host.SELF and frame.f_back is not None:
        frame = frame.f_back
    return frame


def names_at(depth):
    """The names that the code sees that many frames above the caller."""
    frame = frame_at(depth + 1)
    names = dict(frame.f_globals)
    names.update(frame.f_locals)
    return names


def interpreter():
    """The path of the shell that runs commands."""
    for path in os.environ.get("SHELL"), "/bin/bash", "/usr/bin/bash":
        if path and os.access(path, os.X_OK):
            return path
    return "/bin/sh"


def found(program):
    """The path of a program."""
    if "/" in program:
        return program
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory or ".", program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(2, "there is no such program in PATH", program)


def run(argv, stdin=None, stdout=None, stderr=None):
    """Runs a program to its end and returns its exit code, or minus the number of its signal. Each
    stream is a descriptor, or None for the cell's. An interrupt first ends the program."""
    host.flush()
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((stdin, stdout, stderr)) if fd is not None]
    status = Child(found(argv[0]), argv, actions).wait()
    if os.WIFSIGNALED(status):
        return -os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


class Child:
    """A running program. An interrupt ends its whole process group."""

    def __init__(self, path, argv, actions):
        held = Held()
        try:
            restored = [_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT]
            self.pid = posix.posix_spawn(path, argv, os.environ, file_actions=actions, setpgroup=0, setsigdef=restored)
        finally:
            self.early = held.let_go()

    def wait(self):
        """Waits for its end and returns its status."""
        try:
            if self.early:
                raise KeyboardInterrupt
            return posix.waitpid(self.pid, 0)[1]
        except BaseException:
            held = Held()
            try:
                self.end()
            finally:
                held.let_go()
            raise

    def end(self):
        """Interrupts the program, and then kills the processes that are left."""
        until = time.monotonic() + INTERRUPT_GRACE
        gone = False
        for number in (_signal.SIGINT, _signal.SIGKILL):
            try:
                posix.killpg(self.pid, number)
            except OSError:
                pass
            while not gone and (number == _signal.SIGKILL or time.monotonic() < until):
                try:
                    gone = posix.waitpid(self.pid, os.WNOHANG)[0] == self.pid
                except OSError:  # user code has waited for it
                    gone = True
                time.sleep(0 if gone else PAUSE)
            if gone and number == _signal.SIGINT and not self.group_left(until):
                return

    def group_left(self, until):
        """Whether processes of the group are left at that time."""
        while time.monotonic() < until:
            try:
                posix.killpg(self.pid, 0)
            except OSError:
                return False
            time.sleep(PAUSE)
        return True


class Held:
    """Holds back interrupts in the main thread, which is the one that gets them."""

    def __init__(self):
        kernel = host.KERNEL
        self.main = host._thread.get_ident() == kernel.main and kernel.running
        if self.main:
            kernel.running = False

    def let_go(self):
        """Stops holding back and returns whether an interrupt came."""
        if not self.main:
            return False
        kernel = host.KERNEL
        kernel.running = True
        came, kernel.interrupted = kernel.interrupted, False
        return came


class Output:
    """A file in memory for a program's output: a pipe could stay open after the program's end."""

    def __init__(self):
        self.fd = os.memfd_create("output")

    def text(self):
        os.lseek(self.fd, 0, os.SEEK_SET)
        with open(self.fd, "rb", closefd=False) as file:
            return file.read().decode("utf-8", "replace")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self.fd)


def captured():
    """Whether a cell's output is redirected, as by %%capture."""
    return sys.stdout is not sys.__stdout__


class Given:
    """The rest of the execution's standard input, for a program."""

    def __init__(self):
        stream = sys.stdin
        self.fd = None
        rest = stream.read().encode() if type(stream) is host.Stdin and not stream.closed else b""
        if rest:
            self.fd, self.data = in_memory(rest), rest

    def give_back(self):
        """Returns the unread rest to input()."""
        if self.fd is not None:
            read = os.lseek(self.fd, 0, os.SEEK_CUR)
            sys.stdin = host.Stdin(self.data[read:])
            os.close(self.fd)


def in_memory(data):
    fd = os.memfd_create("input")
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def system(command):
    """Runs a shell command with the cell's output, and returns its exit code."""
    try:
        return script(argv_of(command))
    finally:
        if "install" in command:  # finds packages that Python has missed before
            import importlib

            importlib.invalidate_caches()


def argv_of(command):
    """The command for the shell. If PATH has no python or pip, it uses this interpreter's: Debian
    names Python python3."""
    import shlex

    before = ""
    for name, program in ("python", ""), ("pip", " -m pip"):
        if name in command and not any(os.access(os.path.join(path, name), os.X_OK) for path in os.environ.get("PATH", os.defpath).split(os.pathsep)):
            before += '%s() { %s%s "$@"; }; ' % (name, shlex.quote(sys.executable), program)
    return [interpreter(), "-c", before + command]


def script(argv):
    """Runs a program with a cell's standard input and output."""
    given = Given()
    try:
        if not captured():
            return run(argv, given.fd)
        with Output() as out, Output() as err:
            try:
                return run(argv, given.fd, out.fd, err.fd)
            finally:
                sys.stdout.write(out.text())
                sys.stderr.write(err.text())
    finally:
        given.give_back()


def output(command):
    """The exit code of a shell command, and its output and errors in one text."""
    given = Given()
    try:
        with Output() as out:
            code = run(argv_of(command), given.fd, out.fd, out.fd)
            return code, out.text()
    finally:
        given.give_back()


class Result:
    """The result of run_cell."""

    def __init__(self, value, error):
        self.result, self.error_in_exec, self.error_before_exec = value, error, None

    @property
    def success(self):
        return self.error_in_exec is None

    def raise_error(self):
        if self.error_in_exec is not None:
            raise self.error_in_exec


class Events:
    """Functions that run before and after each cell."""

    NAMES = "pre_execute", "pre_run_cell", "post_execute", "post_run_cell", "shell_initialized"

    def __init__(self):
        self.callbacks = {name: [] for name in self.NAMES}

    def register(self, event, function):
        if event not in self.callbacks:
            raise KeyError("there is no event %r; there are %s" % (event, ", ".join(self.NAMES)))
        if function not in self.callbacks[event]:
            self.callbacks[event].append(function)

    def unregister(self, event, function):
        if function not in self.callbacks[event]:
            raise ValueError("Function %r is not registered as a %s callback" % (function, event))
        self.callbacks[event].remove(function)

    def trigger(self, event, *arguments):
        """Calls the functions of an event. The failure of one is reported and has no other effect."""
        for function in list(self.callbacks[event]):
            try:
                takes = getattr(getattr(function, "__code__", None), "co_argcount", len(arguments)) - hasattr(function, "__self__")
                function(*arguments[: max(0, takes)])
            except Exception:
                sys.stderr.write("Error in callback %r (for %s):\n" % (function, event))
                host.standard("traceback").print_exc()


class Cell:
    """The argument of the functions of pre_run_cell and post_run_cell."""

    def __init__(self, source):
        self.raw_cell, self.store_history, self.silent, self.cell_id = source, True, False, None


class ZMQInteractiveShell:
    """The complete shell."""

    __module__ = "ipykernel.zmqshell"  # plotly recognises a notebook by it
    kernel, config = True, {}
    ast_node_interactivity = "last_expr"
    autoawait = True

    def __getattr__(self, name):
        text = "%r object has no attribute %r" % (type(self).__name__, name)
        if not name.startswith("_"):
            text += " in Yurt's own kernel; " + host.magics_part().WITH_IPYTHON
        raise AttributeError(text)

    def begin(self):
        self.events = Events()
        self.given = {"line": {}, "cell": {}}  # the user's magics
        host.KERNEL.shell = self

    @property
    def user_ns(self):
        return host.KERNEL.module.__dict__

    user_global_ns = user_ns

    @property
    def user_module(self):
        return host.KERNEL.module

    @property
    def execution_count(self):
        return host.KERNEL.count

    def before(self, source):
        self.events.trigger("pre_execute")
        self.events.trigger("pre_run_cell", Cell(source))

    def after(self, value, error):
        self.events.trigger("post_execute")
        result = Result(value, error)
        result.info = Cell(host.SOURCES.text)
        self.events.trigger("post_run_cell", result)

    def show_more(self, tree):
        """Makes a cell show the values that ast_node_interactivity selects."""
        import ast

        mode, last = self.ast_node_interactivity, len(tree.body) - 1
        made = []
        for number, node in enumerate(tree.body):
            if isinstance(node, ast.Expr) and (mode == "all" and number < last or mode == "none"):
                shown = ast.parse("get_ipython().shown(0)" if mode == "all" else "None; 0").body[0]
                if mode == "all":
                    shown.value.args[0] = node.value
                    node.value = ast.fix_missing_locations(ast.copy_location(shown.value, node.value))
                made.append(node)
                if mode == "none" and number == last:
                    made.append(ast.copy_location(ast.Pass(), node))
                continue
            made.append(node)
            if mode == "last_expr_or_assign" and number == last and isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name):
                    made.append(ast.fix_missing_locations(ast.copy_location(ast.Expr(ast.Name(target.id, ast.Load())), node)))
        tree.body[:] = made

    def shown(self, value):
        if value is not None:
            host.show(value)

    def find_magic(self, name, magic_kind="line"):
        """The function of a magic, or None."""
        return self.given[magic_kind].get(name) or host.magics_part().find(name, magic_kind)

    find_line_magic = find_magic

    def find_cell_magic(self, name):
        return self.find_magic(name, "cell")

    def run_line_magic(self, magic_name, line="", _stack_depth=1):
        name = magic_name.lstrip("%")
        function = self.find_magic(name)
        if magic_name.startswith("%") and self.find_magic(name, "cell") is not None:
            raise UsageError("the cell magic %%%%%s stands in the first line of a cell, before all code" % name)
        if function is None:
            host.magics_part().refuse(name, "line", self)
        return self.called(function, line)

    def run_cell_magic(self, magic_name, line, cell):
        function = self.find_magic(magic_name, "cell")
        if function is None:
            host.magics_part().refuse(magic_name, "cell", self)
        return self.called(function, line, cell)

    def called(self, function, line, *cell):
        if not getattr(function, "_ipython_magic_no_var_expand", False):
            line = expand(line, names_at(1))
        options = {"local_ns": frame_at(1).f_locals} if getattr(function, "needs_local_scope", False) else {}
        return function(line, *cell, **options)

    def time_awaiting(self, statement):
        """%time of code that awaits, for code that runs in the loop."""
        return host.magics_part().timed_awaiting(statement, frame_at(0).f_locals)

    def magic(self, text):
        name, _, line = text.lstrip("%").partition(" ")
        return self.run_line_magic(name, line.strip())

    def var_expand(self, cmd, depth=0, formatter=None):
        return expand(cmd, names_at(1))

    def system(self, cmd):
        self.user_ns["_exit_code"] = system(expand(cmd, names_at(1)))

    system_raw = system_piped = system

    def getoutput(self, cmd, split=True, depth=0):
        self.user_ns["_exit_code"], text = output(expand(cmd, names_at(1)))
        return Lines(text.splitlines()) if split else text

    def ex(self, cmd):
        exec(cmd, self.user_ns)

    def ev(self, expr):
        return eval(expr, self.user_ns)

    def push(self, variables, interactive=True):
        if isinstance(variables, str):
            variables = variables.split()
        if not isinstance(variables, dict):
            names = names_at(1)
            variables = {name: names[name] for name in variables}
        self.user_ns.update(variables)

    def run_cell(self, raw_cell, store_history=False, silent=False, **ignored):
        """Runs code as a cell within this one. Shows an error and returns it in the result."""
        try:
            value = run_text(raw_cell)
        except Exception as error:
            self.showtraceback()
            return Result(None, error)
        if value is not None and not silent:
            host.show(value)
        return Result(value, None)

    async def run_cell_async(self, raw_cell, **options):
        return self.run_cell(raw_cell, **options)

    def showtraceback(self, *ignored, **options):
        host.explain(sys.exc_info()[1])

    def register_magic_function(self, func, magic_kind="line", magic_name=None):
        for kind in ("line", "cell") if magic_kind == "line_cell" else (magic_kind,):
            self.given[kind][magic_name or func.__name__] = func

    def register_magics(self, *objects):
        """Registers the magics of instances or classes."""
        for thing in objects:
            thing = thing(shell=self) if isinstance(thing, type) else thing
            for attribute in dir(thing):
                function = getattr(thing, attribute, None)
                for kind, name in getattr(function, "_yurt_magics", ()):
                    self.register_magic_function(function, kind, name)
            if getattr(thing, "registered", False) is True:  # an instance of IPython's own Magics
                for kind, found in thing.magics.items():
                    for name, function in found.items():
                        self.register_magic_function(function, kind, name)

    def show_usage(self):
        host.magics_part().show_usage()

    def set_next_input(self, text, replace=False):
        """Has no effect, as there is no next cell to fill."""

    enable_gui = set_custom_exc = set_next_input


def run_text(source):
    """Runs a part of the cell and returns the value of its last expression."""
    return run_compiled(*compiled(source))


def compiled(source):
    """The code of a part of the cell, with the cell's name and line numbers: the body and the last expression."""
    whole = host.SOURCES.text
    at = whole.rfind(source.rstrip("\n")) if source.strip() else -1
    before = whole[: max(at, 0)].rpartition("\n")[2]
    if before.strip() and "%" not in before:  # an argument of run_cell
        at = -1
    padding = "\n" * whole.count("\n", 0, at) if at > 0 else ""
    filename = "<cell %d>" % host.KERNEL.count
    if at < 0:
        filename = "<part of cell %d>" % host.KERNEL.count
        host.SOURCES.add(filename, source)
    return host.KERNEL.compile(padding + source, filename, None)[:2]


def run_compiled(body, last, local_ns=None):
    value = None
    for code in (body, last):
        if code is not None:
            value = eval(code, host.KERNEL.module.__dict__, local_ns)
            if code.co_flags & host.COROUTINE:
                value = host.KERNEL.finish(value)
    return value if last is not None else None
