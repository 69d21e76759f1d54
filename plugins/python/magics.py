"""Implements magics. Read when code first uses one.

kernel.py sets the name host to itself, and shell to the module of shell.py.
"""

import gc
import os
import sys
import time

host = shell = None
LINE, CELL = {}, {}  # functions by names of magics
NO_EFFECT = {
    "alias_magic", "autoawait", "automagic", "autoreload", "autosave", "aimport", "code_wrap", "colors", "config", "doctest_mode", "gui",
    "logoff", "logon", "logstart", "logstate", "logstop", "matplotlib", "pdb", "pprint", "unload_ext", "xmode",
}  # fmt: skip
ALIASES = {
    "cat": "cat", "cp": "cp", "head": "head", "ldir": "ls -F -l | grep /$", "less": "cat", "lf": "ls -F -l | grep ^-", "ll": "ls -F -l",
    "ls": "ls -F", "lx": "ls -F -l | grep ^-..x", "man": "man", "mkdir": "mkdir", "more": "cat", "mv": "mv", "rm": "rm", "rmdir": "rmdir",
    "tail": "tail",
}  # fmt: skip
PROGRAMS = "bash", "node", "perl", "pypy", "python", "python2", "python3", "ruby", "sh"
NOT_SUPPORTED = {
    "store": "write the value to a file in the session",
    "debug": "print what you want to see, or raise an exception: its traceback is in the result",
    "load": "read the file and send its text as code, or use %run",
    "edit": "write a file and use %run",
    "notebook": "keep the code that you send",
    "macro": "define a function",
    "bookmark": "keep the directory in a variable and use %cd $variable",
}
EXTENSIONS = {"autoreload", "storemagic", "tensorboard"}
WITH_IPYTHON = 'with IPython in the template (dependencies = { python = ["ipython"] }) all magics of IPython are there'
UNITS = ("s", 1), ("ms", 1e3), ("μs", 1e6), ("ns", 1e9)
LEAST = 0.2  # seconds that a run of %timeit takes
TYPES_ONLY = ("module", "function", "type")


def line(*names):
    """Makes a function the line magics of these names."""

    def named(function):
        LINE.update(dict.fromkeys(names, function))
        return function

    return named


def cell(*names):
    def named(function):
        CELL.update(dict.fromkeys(names, function))
        return function

    return named


def find(name, kind):
    """The function of a magic, or None."""
    if kind == "cell":
        if name not in CELL and name in PROGRAMS:
            return lambda text, body: script(name + " " + text, body)
        return CELL.get(name)
    if name in LINE:
        return LINE[name]
    if name in NO_EFFECT:
        return lambda text: None
    if name in ALIASES:
        return lambda text: alias(ALIASES[name], text)
    if name in NOT_SUPPORTED:
        return lambda text: fail("%%%s is not supported: %s" % (name, NOT_SUPPORTED[name]))
    return None


def names_of(kind, user):
    if kind == "cell":
        return sorted({*CELL, *PROGRAMS, *user.given["cell"]})
    return sorted({*LINE, *NO_EFFECT, *ALIASES, *user.given["line"]})


def fail(message):
    raise shell.UsageError(message)


def refuse(name, kind, user):
    """Reports an unknown magic and names the most similar one."""
    from difflib import get_close_matches

    mark, other = ("%%", "line") if kind == "cell" else ("%", "cell")
    text = "there is no %s magic %s%s in Yurt's own kernel" % (kind, mark, name)
    if user.find_magic(name, other) is not None:
        text += ", but the %s magic %s%s" % (other, "%" if kind == "cell" else "%%", name)
        text += "; it stands in the first line of a cell" if other == "cell" else "; it takes one line"
    else:
        near = get_close_matches(name, names_of(kind, user), 1, 0.5)
        text += "; the nearest is %s%s" % (mark, near[0]) if near else "; %lsmagic lists those that there are"
    fail(text + "; " + WITH_IPYTHON)


def options(text, flags, kind):
    """The options before the text, with their values. In flags, a colon follows a letter with a value."""
    found, rest = {}, text.lstrip()
    while rest.startswith("-") and len(rest) > 1 and rest[1].isalpha():
        word, _, after = rest.partition(" ")
        letter, value = word[1], word[2:]
        at = flags.find(letter)
        if at < 0:
            fail("%s has no option -%s; its options are %s" % (kind, letter, " ".join("-" + c for c in flags if c != ":")))
        if flags[at + 1 : at + 2] == ":":
            if not value:
                value, _, after = after.lstrip().partition(" ")
            found[letter] = value
            rest = after.lstrip()
        else:
            found[letter] = True
            rest = ("-" + value + " " + after) if value else after.lstrip()
    return found, rest


def number(given, letter, default, kind, most):
    text = given.get(letter, default)
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= most:
        fail("%s -%s is %r; it is a number from 1 to %d" % (kind, letter, text, most))
    return value


def user_names():
    """The names that user code has defined."""
    hidden = {"In", "Out", "display", "exit", "quit", "get_ipython"}
    return sorted(name for name in host.KERNEL.module.__dict__ if not name.startswith("_") and name not in hidden)


def words(text):
    import shlex

    try:
        return shlex.split(text, comments=True)
    except ValueError as error:
        fail("%s: %s" % (error, text))


# Time


def span(seconds):
    """A duration with three digits and a suitable unit."""
    if seconds >= 60:
        parts, whole = [], int(seconds)
        for unit, size in ("d", 86400), ("h", 3600), ("min", 60), ("s", 1):
            count, whole = divmod(whole, size)
            if count:
                parts.append("%d%s" % (count, unit))
        return " ".join(parts)
    for unit, scale in UNITS:
        if seconds * scale >= 1 or unit == "ns":
            return "%.3g %s" % (seconds * scale, unit)


def of_code(function):
    """Marks a magic whose line is code: {name} is not replaced in it, and it sees the local names of the caller."""
    function._ipython_magic_no_var_expand = function.needs_local_scope = True
    return function


@line("time")
@of_code
def timed(text, local_ns):
    """Says how long a statement takes."""
    if not text.strip():
        return fail("%time takes a statement")
    return timed_run(text, local_ns)


@cell("time")
@of_code
def timed_cell(text, body, local_ns):
    return timed_run(text + "\n" + body if text.strip() else body, local_ns)


def timed_run(source, local_ns):
    codes = shell.compiled(source)
    with Timing():
        return shell.run_compiled(*codes, local_ns)


async def timed_awaiting(source, local_ns):
    codes = shell.compiled(source)
    with Timing():
        value = await host.awaited(codes, host.KERNEL.module.__dict__, local_ns)
    return value if codes[1] is not None else None


class Timing:
    """Prints the time that its block takes."""

    def __enter__(self):
        import resource

        self.usage = lambda: resource.getrusage(resource.RUSAGE_SELF)
        self.before, self.begun = self.usage(), time.perf_counter()

    def __exit__(self, *ignored):
        wall, after, before = time.perf_counter() - self.begun, self.usage(), self.before
        user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
        print("CPU times: user %s, sys: %s, total: %s\nWall time: %s" % (span(user), span(system), span(user + system), span(wall)))


class TimeitResult:
    """The result of %timeit -o."""

    def __init__(self, loops, repeat, all_runs, compile_time, precision):
        self.loops, self.repeat, self.all_runs = loops, repeat, all_runs
        self.compile_time, self._precision = compile_time, precision
        self.timings = [total / loops for total in all_runs]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.average = sum(self.timings) / len(self.timings)
        self.stdev = (sum((timing - self.average) ** 2 for timing in self.timings) / len(self.timings)) ** 0.5

    def __str__(self):
        return "%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)" % (
            span(self.average), span(self.stdev), self.repeat, "" if self.repeat == 1 else "s", format(self.loops, ","), "" if self.loops == 1 else "s",
        )  # fmt: skip

    def __repr__(self):
        return "<TimeitResult : %s>" % self


@line("timeit")
@of_code
def timeit(text, body="", local_ns=None):
    """Says how long a statement takes on average: -n loops, -r runs, -o returns the result, -q prints no text."""
    given, statement = options(text, "n:r:tcp:qov", "%timeit")
    repeat = number(given, "r", "7", "%timeit", 10000)
    setup, code = (statement, body) if body else ("", statement)
    if not code.strip():
        return fail("%timeit takes a statement")
    begun = time.perf_counter()
    inner = inner_loop(setup, code, local_ns)
    compiled = time.perf_counter() - begun
    collects = gc.isenabled()
    gc.disable()
    try:
        loops = number(given, "n", "0", "%timeit", 10**10) if "n" in given else enough(inner)
        runs = [inner(range(loops), time.perf_counter) for _ in range(repeat)]
    finally:
        if collects:
            gc.enable()
    result = TimeitResult(loops, repeat, runs, compiled, 3)
    if "q" not in given:
        print(result)
        if "v" in given:
            print("All runs: " + ", ".join(span(run) for run in runs))
    return result if "o" in given else None


@cell("timeit")
@of_code
def timeit_cell(text, body, local_ns):
    return timeit(text, body, local_ns)


def enough(inner):
    """The number of loops that makes a run long enough to measure."""
    for exponent in range(10):
        if inner(range(10**exponent), time.perf_counter) >= LEAST:
            break
    return 10**exponent


def inner_loop(setup, code, local_ns):
    """A function that runs the code a number of times and returns the time it took."""
    import ast

    frame = "def inner(_it, _timer):\n    pass\n    _begun = _timer()\n    for _i in _it:\n        pass\n    return _timer() - _begun\n"
    tree = ast.parse(frame)
    function = tree.body[0]
    function.body[2].body = parsed(code) or function.body[2].body
    function.body[0:1] = parsed(setup) or function.body[0:1]
    made, names = {}, host.KERNEL.module.__dict__
    if local_ns is not names:  # the call is in a function
        names = {**names, **(local_ns or {})}
    exec(compile(ast.fix_missing_locations(tree), "<timeit>", "exec"), names, made)
    return made["inner"]


def parsed(source):
    """The statements of source code, which may contain magics."""
    try:
        return compile(source, "<timeit>", "exec", host.ONLY_AST | host.KERNEL.futures, True).body
    except SyntaxError:
        tree = host.translated(source, "<timeit>", host.KERNEL.futures)
        if tree is None:
            raise
        return tree[0].body


@line("prun")
@of_code
def profiled(text, local_ns):
    return profiled_cell("", options(text, "l:s:T:D:rq", "%prun")[1], local_ns)


@cell("prun")
@of_code
def profiled_cell(text, body, local_ns):
    import cProfile
    import io
    import pstats

    profile, out, codes = cProfile.Profile(), io.StringIO(), shell.compiled(body)
    try:
        profile.enable()
        shell.run_compiled(*codes, local_ns)
    finally:
        profile.disable()
        pstats.Stats(profile, stream=out).strip_dirs().sort_stats("time").print_stats()
        host.publish({"text/plain": out.getvalue()})


# Commands


def alias(command, text):
    wanted = command.count("%s") - command.count("%%s")
    if "%l" in command:
        command, text = command.replace("%l", text), ""
    elif wanted > 0:
        given = text.split(None, wanted)
        if len(given) < wanted:
            return fail("the alias takes %d arguments, and %d are given: %s" % (wanted, len(given), command))
        command, text = command % tuple(given[:wanted]), "".join(given[wanted:])
    elif "|" in command:
        first, bar, rest = command.partition("|")
        command, text = first + text + " " + bar + rest, ""
    host.KERNEL.module.__dict__["_exit_code"] = shell.system((command + " " + text).strip())


@line("alias")
def new_alias(text):
    if not text.strip():
        print("Total number of aliases: %d" % len(ALIASES))
        return sorted(ALIASES.items())
    name, _, command = text.strip().partition(" ")
    if not command:
        return fail("%alias takes a name and a command")
    ALIASES[name] = command


@line("sx", "sc", "system")
def lines_of(text):
    host.KERNEL.module.__dict__["_exit_code"], out = shell.output(text)
    return shell.Lines(out.splitlines())


@cell("sx", "system", "!")
def lines_of_cell(text, body):
    return lines_of(text + "\n" + body)


@line("pip")
def pip(text):
    """Runs pip, which installs packages into the session."""
    host.KERNEL.module.__dict__["_exit_code"] = shell.system("%s -m pip %s" % (quoted(sys.executable), text))


@line("uv", "conda", "mamba", "micromamba")
def other_installers(text):
    arguments = words(text)
    arguments = arguments[1:] if arguments[:1] == ["pip"] else arguments
    if arguments[:1] == ["install"]:
        return pip(" ".join(map(quoted, [word for word in arguments if word not in ("-y", "--yes")])))
    return fail("only `install` is supported of it, as %pip has it")


def quoted(text):
    import shlex

    return shlex.quote(text)


@cell("script")
def script(text, body):
    """Runs a program that reads the cell."""
    import argparse

    parser = argparse.ArgumentParser(prog="%%script", add_help=False, exit_on_error=False) if sys.version_info >= (3, 9) else argparse.ArgumentParser(prog="%%script", add_help=False)
    for name in ("--out", "--err", "--proc"):
        parser.add_argument(name)
    for name in ("--bg", "--no-raise-error"):
        parser.add_argument(name, action="store_true")
    try:
        given, argv = parser.parse_known_args(words(text))
    except (argparse.ArgumentError, SystemExit) as error:
        return fail("%%%%script: %s" % error)
    if not argv:
        return fail("%%script takes the program that reads the cell")
    if argv[0] in shell.PYTHONS:
        argv[0] = sys.executable
    return in_background(argv, body) if given.bg else fed(argv, body, given)


def fed(argv, body, given):
    names = host.KERNEL.module.__dict__
    source = shell.in_memory(body.encode())
    try:
        with shell.Output() as out, shell.Output() as err:
            hidden = shell.captured()
            code = None
            try:
                code = shell.run(argv, source, out.fd if given.out or hidden else None, err.fd if given.err or hidden else None)
            finally:
                for name, stream, text in (given.out, sys.stdout, out.text()), (given.err, sys.stderr, err.text()):
                    if name:
                        names[name] = text
                    else:
                        stream.write(text)
    finally:
        os.close(source)
    names["_exit_code"] = code
    if code and not given.no_raise_error:
        from subprocess import CalledProcessError

        raise CalledProcessError(code, body)


def in_background(argv, body):
    import subprocess

    source = shell.in_memory(body.encode())
    try:
        subprocess.Popen(argv, stdin=source, start_new_session=True)
    finally:
        os.close(source)


# Files and directories


@cell("writefile", "file")
def write_file(text, body):
    given, rest = options(text.replace("--append", "-a"), "a", "%%writefile")
    arguments = words(rest)
    if "-a" in arguments:
        arguments.remove("-a")
        given["a"] = True
    if len(arguments) != 1:
        return fail("%%writefile takes the name of one file, and -a to append to it")
    path = os.path.expanduser(arguments[0])
    print("%s %s" % ("Appending to" if "a" in given else "Overwriting" if os.path.exists(path) else "Writing", arguments[0]))
    with open(path, "a" if "a" in given else "w", encoding="utf-8") as file:
        file.write(body)


@line("pwd")
def working_directory(text):
    return os.getcwd()


@line("cd")
def change_directory(text):
    given, rest = options(text if text.strip() != "-" else "", "q", "%cd")
    past = host.KERNEL.module.__dict__.setdefault("_dh", [os.getcwd()])
    if text.strip() == "-":
        if len(past) < 2:
            return fail("%cd - has no directory before this one")
        path = past[-2]
    else:
        path = os.path.expanduser(rest.strip().strip("'\"") or "~")
    os.chdir(path)
    past.append(os.getcwd())
    if "q" not in given:
        print(os.getcwd())


@line("dhist")
def directories(text):
    print("Directory history (kept in _dh)")
    for count, path in enumerate(host.KERNEL.module.__dict__.get("_dh", [os.getcwd()])):
        print("%d: %s" % (count, path))


@line("pushd")
def push_directory(text):
    STACK.append(os.getcwd())
    change_directory(text)


@line("popd")
def pop_directory(text):
    if not STACK:
        return fail("%popd: the stack of directories is empty")
    change_directory(STACK.pop())


STACK = []


@line("env", "set_env")
def environment(text):
    text = text.strip()
    if not text:
        return dict(os.environ)
    mark = "=" if "=" in text.partition(" ")[0] or "=" in text else None
    name, given, value = text.partition(mark) if mark else text.partition(" ")
    name = name.strip()
    if not given:
        if name not in os.environ:
            return fail("Environment does not have key: %s" % name)
        return os.environ[name]
    if " " in name:
        return fail("refusing to set the variable %r, whose name has a space" % name)
    os.environ[name] = value.strip()
    print("env: %s=%s" % (name, value.strip()))


@line("run")
def run_file(text):
    """Runs a file as a program and adds its names to the user's."""
    given, rest = options(text, "inetdpm:", "%run")
    argv = ([given["m"]] if "m" in given else []) + words(rest)
    if not argv:
        return fail("%run takes the name of a file")
    names = host.KERNEL.module.__dict__
    kept, main = sys.argv[:], sys.modules["__main__"]
    sys.argv[:] = argv
    try:
        if "m" in given:
            import runpy

            made = runpy.run_module(argv[0], run_name="__main__", alter_sys=False)
        else:
            sys.argv[0] = file_of(argv[0])
            made = run_path(sys.argv[0], names if "i" in given else None, "n" not in given)
    finally:
        sys.argv[:], sys.modules["__main__"] = kept, main
    if made is not names:
        names.update((name, value) for name, value in made.items() if not (name.startswith("__") and name.endswith("__")))


def file_of(name):
    path = os.path.expanduser(name)
    for candidate in (path, path + ".py", path + ".ipy"):
        if os.path.isfile(candidate):
            return candidate
    raise FileNotFoundError(2, "there is no such file", name)


def run_path(path, names, main):
    """Runs a file in these names, or else in a new module, and returns the names."""
    with open(path, "rb") as file:
        data = file.read()
    shared = host.KERNEL.module.__dict__
    if path.endswith((".ipynb", ".ipy")):
        for source in cells_of(path, data):
            shell.run_text(source)
        return shared
    code = compile(data, os.path.abspath(path), "exec", 0, True)
    if names is None:
        module = type(sys)("__main__" if main else os.path.splitext(os.path.basename(path))[0])
        module.__file__, module.__builtins__ = path, host.builtins
        sys.modules["__main__"] = module if main else sys.modules["__main__"]
        KEPT.append(module)  # its functions need its names
        names = module.__dict__
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        exec(code, names)
    except SystemExit as exit:
        if exit.code not in (None, 0):
            raise
    finally:
        del sys.path[0]
    return names


def cells_of(path, data):
    if path.endswith(".ipy"):
        return [data.decode()]
    cells = host.standard("json").loads(data)["cells"]
    return ["".join(each["source"]) for each in cells if each.get("cell_type") == "code"]


KEPT = []


@line("pycat")
def show_file(text):
    with open(file_of(text.strip()), encoding="utf-8") as file:
        host.publish({"text/plain": file.read()})


# Names


def chosen(text):
    """The user's names whose values have one of the types; without a type, all names."""
    names, types = host.KERNEL.module.__dict__, text.split()
    return [name for name in user_names() if not types or type(names[name]).__name__ in types]


@line("who_ls")
def names_list(text):
    return chosen(text)


@line("who")
def names_shown(text):
    found = chosen(text)
    if not found:
        print("Interactive namespace is empty." if not text.strip() else "No variables match your requested type.")
    for begin in range(0, len(found), 9):
        print(" ".join(name + "\t" for name in found[begin : begin + 9]), end=" ")
        print()


@line("whos")
def names_table(text):
    found = chosen(text)
    if not found:
        return names_shown(text)
    names = host.KERNEL.module.__dict__
    rows = [(name, type(names[name]).__name__, summary(names[name])) for name in found]
    first, second = (max(len(row[i]) for row in rows + [("Variable", "Type")]) for i in (0, 1))
    head = "%s   %s    Data/Info" % ("Variable".ljust(first), "Type".ljust(second))
    print(head + "\n" + "-" * len(head))
    for name, kind, info in rows:
        print("%s   %s    %s" % (name.ljust(first), kind.ljust(second), info))


def summary(value):
    """A value in a few words."""
    kind = type(value)
    if kind in (list, tuple, dict, set):
        return "n=%d" % len(value)
    try:
        if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "nbytes"):
            return "%s: %d elems, type `%s`, %d bytes" % ("x".join(map(str, value.shape)), value.size, value.dtype, value.nbytes)
        text = str(value).replace("\n", "\\n")
    except Exception:
        text = "<exception in str()>"
    return text if len(text) <= 50 else text[:20] + "<...>" + text[-20:]


@line("reset")
def reset(text):
    if "-f" not in text.split() and (sys.stdin.readline() or "n").strip().lower() not in ("y", "yes"):
        return fail("%reset asks for confirmation, which needs a user: use %reset -f")
    names = host.KERNEL.module.__dict__
    for name in list(names):
        if not name.startswith("_") and name not in ("In", "Out", "display"):
            del names[name]
    host.KERNEL.history.forget(names)


@line("reset_selective")
def reset_some(text):
    import re

    given, pattern = options(text, "f", "%reset_selective")
    for name in user_names():
        if re.search(pattern, name):
            del host.KERNEL.module.__dict__[name]


@line("xdel")
def delete(text):
    if host.KERNEL.module.__dict__.pop(text.strip(), fail) is fail:
        raise NameError("name '%s' is not defined" % text.strip())


# Displays


def shown_as(name):
    """A cell magic that shows its body through a class of IPython.display."""

    def show_cell(text, body):
        import IPython.display

        host.display(getattr(IPython.display, name)(body))

    return show_cell


CELL.update({name: shown_as(kind) for name, kind in (
    ("html", "HTML"), ("HTML", "HTML"), ("markdown", "Markdown"), ("latex", "Latex"), ("svg", "SVG"), ("SVG", "SVG"),
    ("javascript", "Javascript"), ("js", "Javascript"),
)})  # fmt: skip


class Captured:
    """The output and displays that %%capture has kept."""

    def __init__(self, out, err, shown):
        self._out, self._err, self._shown = out, err, shown

    @property
    def stdout(self):
        return self._out.getvalue() if self._out else ""

    @property
    def stderr(self):
        return self._err.getvalue() if self._err else ""

    @property
    def outputs(self):
        return [Shown(message) for message in self._shown or ()]

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for message in self._shown or ():
            host.publish(message)

    __call__ = show

    def __str__(self):
        return self.stdout


class Shown:
    """A captured display."""

    def __init__(self, data):
        self.data, self.metadata = data, {}

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data

    def __repr__(self):
        return str(self.data.get("text/plain", ""))

    def display(self):
        host.publish(self.data)


class Capture:
    """Keeps the output and displays of a with statement."""

    def __init__(self, stdout=True, stderr=True, display=True):
        self.wanted = stdout, stderr, display

    def __enter__(self):
        import io

        out, err, display = (make() if wanted else None for wanted, make in zip(self.wanted, (io.StringIO, io.StringIO, list)))
        self.before = sys.stdout, sys.stderr, host.KERNEL.shown
        sys.stdout, sys.stderr = out or sys.stdout, err or sys.stderr
        if display is not None:
            host.KERNEL.shown = display
        return Captured(out, err, display)

    def __exit__(self, *error):
        try:
            if host.KERNEL.shown is not self.before[2]:
                host.figures()
        finally:
            sys.stdout, sys.stderr, host.KERNEL.shown = self.before


@cell("capture")
def capture(text, body):
    rest = words(text)
    without = {word for word in rest if word.startswith("-")}
    names = [word for word in rest if word not in without]
    unknown = without - {"--no-stdout", "--no-stderr", "--no-display"}
    if unknown or len(names) > 1:
        return fail("%%capture takes a name, --no-stdout, --no-stderr and --no-display")
    with Capture(*("--no-" + kind not in without for kind in ("stdout", "stderr", "display"))) as kept:
        if names:
            host.KERNEL.module.__dict__[names[0]] = kept
        value = shell.run_text(body)
        if value is not None:
            host.show(value)


# The shell itself


class Magics:
    """The result of %lsmagic."""

    def __init__(self, lines, cells):
        self.lines, self.cells = lines, cells

    def __repr__(self):
        return "Available line magics:\n%s\n\nAvailable cell magics:\n%s" % (
            "  ".join("%" + name for name in self.lines), "  ".join("%%" + name for name in self.cells),
        )  # fmt: skip


@line("lsmagic", "magic", "quickref")
def list_magics(text):
    user = host.KERNEL.shell
    return Magics(names_of("line", user), names_of("cell", user))


def show_usage():
    host.publish({"text/plain": "name? shows help about a name, name?? its source, %lsmagic lists the magics; " + WITH_IPYTHON})


@line("load_ext", "reload_ext")
def load_extension(text):
    """Loads an extension's magics. IPython's own extensions are not needed."""
    name = text.strip()
    if not name:
        return fail("%load_ext takes the name of an extension")
    if name in EXTENSIONS:
        return
    module = __import__(name, fromlist=["load_ipython_extension"])
    if not hasattr(module, "load_ipython_extension"):
        print("The %s module is not an IPython extension." % name)
        return
    module.load_ipython_extension(host.KERNEL.shell)


@line("config")
def configure(text):
    """Sets InteractiveShell.ast_node_interactivity or InlineBackend.figure_formats."""
    name, given, value = text.replace(" ", "").partition("=")
    if given and name.endswith(".ast_node_interactivity"):
        host.KERNEL.shell.ast_node_interactivity = value.strip("'\"")
    elif given and name.endswith((".figure_format", ".figure_formats")):
        host.rich().set_matplotlib_formats(*(one.strip("'\"") for one in value.strip("{}[]()").split(",") if one))


@line("precision")
def precision(text):
    """Sets how floats are shown: a number of digits, a format, or the default."""
    text = text.strip()
    form = "%%.%sf" % text if text.isdigit() else text
    try:
        form % 3.14159 if form else None
    except (TypeError, ValueError):
        return fail("%%precision takes a number of digits or a format such as %%.3g, and no %r" % text)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.set_printoptions(precision=int(text) if text.isdigit() else 8)
    host.FLOATS["form"] = form or None
    return form or "%r"


@line("xmode")
def traceback_mode(text):
    print("Exception reporting mode: %s" % (text.strip() or "Context"))


@line("tb")
def last_traceback(text):
    if getattr(sys, "last_value", None) is None:
        return fail("no traceback has been produced")
    host.standard("traceback").print_exception(type(sys.last_value), sys.last_value, sys.last_traceback)


@line("pylab")
def pylab(text):
    exec("import numpy, matplotlib\nfrom matplotlib import pyplot\nfrom pylab import *\nnp, plt = numpy, pyplot", host.KERNEL.module.__dict__)


@line("history", "hist")
def history(text):
    given, rest = options(text, "nol:tpuf:g:", "%history")
    inputs = host.KERNEL.module.__dict__.get("_ih") or [""]
    last = len(inputs) - 1
    first = max(1, last - number(given, "l", "10", "%history", 10**9)) if "l" in given else 1
    wanted = ranges(rest, last) if rest.strip() else range(first, last)
    for n in wanted:
        mark = "\n" if "\n" in inputs[n] else " "
        print("%4d:%s%s" % (n, mark, inputs[n]) if "n" in given else inputs[n])


def ranges(text, last):
    """The numbers in ranges such as 1-3 5."""
    found = []
    for word in text.split():
        begin, dash, end = word.partition("-")
        if not begin.isdigit() or dash and end and not end.isdigit():
            fail("%%history takes numbers and ranges such as 1-3, and no %r" % word)
        found += range(max(1, int(begin)), min(last, int(end or last) if dash else int(begin)) + 1)
    return found


# Help


@line("pinfo")
def inspect_name(text, more=False):
    name = text.strip()
    asked = host.KERNEL.shell
    if name.startswith("%"):
        bare = name.lstrip("%")
        function = asked.find_magic(bare, "cell" if name.startswith("%%") else "line") or asked.find_magic(bare, "cell")
        value, known = function, function is not None
    else:
        value, known = looked_up(name)
    if not known:
        print("Object `%s` not found." % name)
        return
    host.publish({"text/plain": described(value, more)})


@line("pinfo2", "psource")
def inspect_source(text):
    return inspect_name(text, True)


LINE.update(dict.fromkeys(("pdoc", "pdef", "pfile"), inspect_name))


def looked_up(name):
    """The value of the name before a question mark, and whether it has one."""
    try:
        return eval(name, shell.names_at(1)), True
    except Exception:
        pass
    keyword = __import__("keyword")
    return (None, True) if keyword.iskeyword(name) else (None, False)


def described(value, more):
    import inspect

    parts = []
    kind = type(value)
    if callable(value):
        try:
            parts.append(("Signature" if not isinstance(value, type) else "Init signature", getattr(value, "__name__", "") + str(inspect.signature(value))))
        except (TypeError, ValueError):
            pass
    else:
        parts.append(("Type", kind.__name__))
        parts.append(("String form", summary(value)))
        try:
            parts.append(("Length", str(len(value))))
        except Exception:
            pass
    source = source_of(value) if more else None
    if source:
        parts.append(("Source", "\n" + source.rstrip()))
    else:
        parts.append(("Docstring", inspect.getdoc(value) or "<no docstring>"))
    try:
        path = inspect.getfile(value)
        parts += [("File", path)] if path != host.SELF else []
    except (TypeError, OSError):
        pass
    if callable(value):
        parts.append(("Type", kind.__name__))
    return "\n".join(("%s:" % name).ljust(12) + text if not text.startswith("\n") else name + ":" + text for name, text in parts)


def source_of(value):
    import inspect

    try:
        return inspect.getsource(value if isinstance(value, type) or callable(value) or inspect.ismodule(value) else type(value))
    except (TypeError, OSError):
        return None


@line("psearch")
def search_names(text):
    import builtins
    import fnmatch

    owner, dot, pattern = text.strip().rpartition(".")
    if dot:
        value, known = looked_up(owner)
        names = [owner + "." + name for name in dir(value)] if known else []
    else:
        names = [*host.KERNEL.module.__dict__, *dir(builtins)]
    wanted = text.strip().lower()
    found = sorted({name for name in names if fnmatch.fnmatch(name.lower(), wanted) and not name.rpartition(".")[2].startswith("_")})
    host.publish({"text/plain": "\n".join(found)})
