"""Explains a failed execution: an error's envelope, and its text on standard error."""


def explain(error):
    """Shows an error on standard error and returns its envelope. Must not fail, even if
    the user's code has broken parts of the interpreter."""
    try:
        trace = show_traceback(error)
        return encode({"error": {"type": type(error).__name__, "message": message(error), "stacktrace": stack(trace)}})
    except BaseException:
        return without_trace(error)


def explain_exit(exit):
    """The envelope of a cell that called sys.exit with a code other than 0. Standard error has
    the exit's message already."""
    try:
        trace = standard("traceback").TracebackException(type(exit), exit, beyond_us(exit.__traceback__))
        prune(trace)
        return encode({"error": {"type": "SystemExit", "message": message(exit), "stacktrace": stack(trace)}})
    except BaseException:
        return without_trace(exit)


def show_traceback(error):
    """Writes an error's traceback to standard error, from the user's first line on, and returns it."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000))
    begun = beyond_us(error.__traceback__)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, begun  # as Python sets them, for %tb and pdb.pm()
    trace = standard("traceback").TracebackException(type(error), error, begun)
    prune(trace)
    try:
        flush()
        sys.stderr.write("".join(trace.format()))
    except Exception:  # standard error may be closed
        pass
    return trace


def without_trace(error):
    """The envelope if even traceback cannot be imported."""
    try:
        return encode({"error": {"type": type(error).__name__, "message": message(error), "stacktrace": Raw(b"[]")}})
    except BaseException:
        name = "".join(c for c in type(error).__name__ if c.isalnum() or c == "_")
        return b'{"error":{"type":"%s","message":"","stacktrace":[]}}' % name.encode()


def beyond_us(trace):
    """The traceback from the user's first frame on."""
    first = trace
    while first is not None:
        name = first.tb_frame.f_code.co_filename
        if name != SELF and not name.endswith(("asyncio/base_events.py", "asyncio/runners.py", "asyncio/futures.py")):
            return first
        first = first.tb_next
    return None


def prune(trace, depth=0):
    """Removes the kernel's frames, also from the error's causes and from the errors of a group."""
    for inner in (trace.__cause__, trace.__context__, *(getattr(trace, "exceptions", None) or ())):
        if inner is not None and depth < 20:
            inner.stack[:] = [frame for frame in inner.stack if frame.filename != SELF]
            prune(inner, depth + 1)
    trace.stack[:] = [frame for frame in trace.stack if frame.filename != SELF]


def stack(trace, depth=0):
    """Only the user's lines, outermost first; an error's cause comes before it."""
    lines = []
    cause, link = trace.__cause__, "The above exception was the direct cause of the following exception:"
    if cause is None and not trace.__suppress_context__:
        cause, link = trace.__context__, "During handling of the above exception, another exception occurred:"
    if cause is not None and depth < 20:
        lines += stack(cause, depth + 1)
        lines += [last_line(cause), link]
    mine = standard("traceback").StackSummary.from_list([frame for frame in trace.stack if users(frame.filename)])
    lines += [text.rstrip("\n") for text in mine.format()]
    if hasattr(trace, "msg"):  # the wrong line of a syntax error
        where = list(trace.format_exception_only())[:-1]
        lines += ["".join(where).rstrip("\n")] if where else []
    for inner in getattr(trace, "exceptions", None) or ():
        if depth < 20 and len(lines) < MAX_STACK:
            lines += ["  in the group: " + last_line(inner)] + stack(inner, depth + 1)
    return lines[:MAX_STACK]


def last_line(trace):
    return list(trace.format_exception_only())[-1].rstrip("\n")[:MAX_MESSAGE]


def users(filename):
    return filename.startswith(("<cell ", "<part of cell ", WORKSPACE + "/")) and "site-packages" not in filename


def message(error):
    try:
        if isinstance(error, SyntaxError):
            where = [str(error.filename)] if error.filename else []
            where += ["line %d" % error.lineno] if error.lineno else []
            where += ["column %d" % error.offset] if error.offset else []
            text = "%s (%s)" % (error.msg, ", ".join(where)) if where else str(error.msg)
        else:
            text = str(error)
    except BaseException:  # an exception's own __str__ may fail in any way
        text = "<exception str() failed>"
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "…"
