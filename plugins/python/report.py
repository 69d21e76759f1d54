"""Explains why a run failed. harness.py loads it after a failure and sets the name
harness to itself.

Standard error shows Python's own traceback without the frames of the harness; the
envelope holds only the frames of the user's files.
"""

import os
import sys

MAX_MESSAGE = 16000  # characters
MAX_FRAMES = 200
MAX_NAMES = 20

HINTS = {
    "set": "return a list: list(…)",
    "frozenset": "return a list: list(…)",
    "bytes": "decode it, or encode it with base64",
    "bytearray": "decode it, or encode it with base64",
    "datetime": "use .isoformat()",
    "date": "use .isoformat()",
    "time": "use .isoformat()",
    "Decimal": "use float(…) or str(…)",
    "UUID": "use str(…)",
    "PosixPath": "use str(…)",
    "ndarray": "use .tolist()",
    "DataFrame": 'use .to_dict("records")',
    "Series": "use .tolist()",
    "complex": "return its parts, or str(…)",
    "generator": "return a list: list(…)",
    "coroutine": "await it",
    "async_generator": "collect it: [x async for x in …]",
    "dict_keys": "return a list: list(…)",
    "dict_values": "return a list: list(…)",
}


def envelope(error):
    """The envelope of an error, as bytes."""
    stack = []
    if isinstance(error, harness.Failure):
        kind = error.kind
    else:
        kind = type(error).__name__
        stack = stacktrace(error)
    return harness.write_json({"error": {"type": kind, "message": message(error), "stacktrace": stack}})


def message(error):
    try:
        if isinstance(error, SyntaxError):
            text = syntax_message(error)
        else:
            text = str(error)
    except BaseException:  # an exception's own __str__ may fail in any way
        text = "<exception str() failed>"
    if len(text) > MAX_MESSAGE:
        text = text[:MAX_MESSAGE] + "… (%d characters in all)" % len(text)
    return text


def syntax_message(error):
    where = [str(error.filename)] if error.filename else []
    if error.lineno:
        where.append("line %d" % error.lineno)
    if error.offset:
        where.append("column %d" % error.offset)
    return "%s (%s)" % (error.msg, ", ".join(where)) if where else str(error.msg)


def show(error):
    """Writes the error to standard error as Python does for an uncaught exception."""
    harness.flush()
    if isinstance(error, harness.Failure):
        print("%s: %s" % (error.kind, error), file=sys.stderr)
        return
    complete_syntax_error(error)
    if sys.excepthook is not sys.__excepthook__:
        try:  # the user's own hook
            sys.excepthook(type(error), error, user_part(error.__traceback__))
            return
        except Exception:
            pass
    with harness.StandardPath():
        text = "".join(formatted(error, own_frame).format())
    sys.stderr.write(text)


def stacktrace(error):
    """The user's frames, outermost first, one string each as Python prints it. The cause
    of an exception comes before it."""
    with harness.StandardPath():
        return chain(formatted(error, user_frame))[:MAX_FRAMES]


def chain(trace, depth=0):
    lines = []
    cause, link = trace.__cause__, "The above exception was the direct cause of the following exception:"
    if cause is None and not trace.__suppress_context__:
        cause, link = trace.__context__, "During handling of the above exception, another exception occurred:"
    if cause is not None and depth < 20:
        lines += chain(cause, depth + 1)
        lines += [last_line(cause), link]
    # The wrong line of a syntax error.
    where = list(trace.format_exception_only())[:-1] if hasattr(trace, "msg") else []
    lines += [text.rstrip("\n") for text in trace.stack.format()]
    if where:
        lines.append("".join(where).rstrip("\n"))
    for inner in getattr(trace, "exceptions", None) or []:
        if depth < 20 and len(lines) < MAX_FRAMES:
            lines.append("  in the group: " + last_line(inner))
            lines += chain(inner, depth + 1)
    return lines


def last_line(trace):
    return list(trace.format_exception_only())[-1].rstrip("\n")[:MAX_MESSAGE]


def formatted(error, keep):
    """A TracebackException with only the frames that keep accepts."""
    complete_syntax_error(error)
    traceback = harness.stdlib("traceback")
    trace = traceback.TracebackException(type(error), error, error.__traceback__)
    pending, seen = [trace], set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack[:] = filtered(one.stack, keep)
        pending += [one.__cause__, one.__context__]
        pending += getattr(one, "exceptions", None) or []
    return trace


def filtered(stack, keep):
    """The frames that keep accepts, from the user's first: those before it belong to
    the harness and its libraries, such as asyncio."""
    first = next((i for i, frame in enumerate(stack) if user_frame(frame)), 0)
    return [frame for frame in stack[first:] if keep(frame)]


def own_frame(frame):
    return frame.filename not in (harness.SELF, __file__)


def user_frame(frame):
    name = frame.filename
    if name == harness.FILENAME or name.startswith("<") and not name.startswith("<frozen"):
        return True
    root = os.path.join(harness.WORKSPACE, "")
    return name.startswith(root) and "-packages/" not in name and own_frame(frame)


def user_part(traceback):
    """A traceback without the frames of the harness that begin it."""
    while traceback is not None and not own_frame(Frame(traceback)):
        traceback = traceback.tb_next
    return traceback


class Frame:
    def __init__(self, traceback):
        self.filename = traceback.tb_frame.f_code.co_filename


def complete_syntax_error(error):
    """Adds the source line: Python would read it from a file that does not exist."""
    if not isinstance(error, SyntaxError) or error.filename != harness.FILENAME or not error.lineno:
        return
    lines = harness.stdlib("linecache").getlines(harness.FILENAME)
    if 0 < error.lineno <= len(lines):
        error.text = lines[error.lineno - 1]


def handler_not_found(module, name, found):
    """Says that the handler is missing, and lists the functions of the module."""
    short = name.rpartition(".")[2]
    if found is not None:
        text = "%s defines %s, but it is %s and not a function" % (harness.FILENAME, short, a(found))
    else:
        text = "%s defines no function named %s" % (harness.FILENAME, short)
    functions = [
        key
        for key, value in module.__dict__.items()
        if callable(value) and not isinstance(value, type) and getattr(value, "__module__", None) == module.__name__
    ]
    if not functions:
        return text + "; it defines no function at all"
    more = ", …" if len(functions) > MAX_NAMES else ""
    return "%s; it defines %s%s" % (text, ", ".join(functions[:MAX_NAMES]), more)


def takes_context(function):
    """harness.takes_context for callables without a code object: partials, objects
    with __call__, classes, built-in functions."""
    inspect = harness.stdlib("inspect")
    try:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return True
    positional = 0
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            return True
        positional += p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    return positional >= 2


def not_serializable(result):
    """Describes the first value in the result that JSON cannot hold, and its place."""
    # Entries are (value, path, containers around it). No recursion: the nesting may be
    # deeper than Python can call.
    pending = [(result, "result", ())]
    while pending:
        value, path, inside = pending.pop()
        problem = trouble(value, path)
        if problem:
            return problem
        if not isinstance(value, (dict, list, tuple)):
            continue
        if len(inside) >= harness.MAX_DEPTH:
            return "the result is nested too deeply: more than %d levels" % harness.MAX_DEPTH
        if id(value) in inside:
            return "%s refers back to a value that it is part of; JSON cannot hold a cycle" % path
        inside += (id(value),)
        items = value.items() if isinstance(value, dict) else enumerate(value)
        pending += reversed([(item, "%s[%s]" % (path, subscript(key)), inside) for key, item in items])
    return "the result cannot be written as JSON"


def trouble(value, path):
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                text = "%s has the key %s, which is %s; JSON has string keys alone: use str(…)"
                return text % (path, subscript(key), a(key))
        return None
    if value is None or isinstance(value, (str, bool, list, tuple)):
        return None
    if isinstance(value, int):
        try:
            int.__repr__(value)
        except ValueError:
            return "%s is an integer of more digits than Python writes; return it as a hexadecimal string" % path
        return None
    if isinstance(value, float):
        if value - value != 0:
            return "%s is %r; JSON has no such number: return None or a string" % (path, value)
        return None
    text = "%s is %s, which JSON cannot hold" % (path, a(value))
    hint = HINTS.get(type(value).__name__)
    if hint is None and hasattr(type(value), "__dataclass_fields__"):
        hint = "use dataclasses.asdict(…)"
    return text + "; " + (hint or "return dict, list, str, int, float, bool or None")


def subscript(key):
    try:
        text = repr(key) if not isinstance(key, str) else harness.write_json(key).decode()
    except BaseException:  # a key's own __repr__ may fail in any way
        text = "<%s>" % type(key).__name__
    return text if len(text) <= 100 else text[:100] + "…"


def a(value):
    """The value's type with its article."""
    name = type(value).__name__
    return ("an " if name[:1].lower() in "aeio" else "a ") + name
