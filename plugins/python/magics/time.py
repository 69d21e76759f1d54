"""Magics that measure."""


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
