"""The compilation of a cell, and the modules that it can import."""


def standard(name):
    """A module of the standard library, even if user files have the names of its
    imports."""
    loaded = sys.modules.get(name)
    if name not in STANDARD and loaded is not None and not users(str(getattr(loaded, "__file__", ""))):
        STANDARD[name] = loaded
    if name not in STANDARD:
        theirs = {other: module for other, module in sys.modules.items() if users(str(getattr(module, "__file__", "")))}
        path = sys.path
        sys.path = [entry for entry in path if entry not in (WORKSPACE, "")]
        for other in theirs:
            del sys.modules[other]
        try:
            STANDARD[name] = __import__(name)
        finally:
            sys.path = path
            sys.modules.update(theirs)
    return STANDARD[name]


STANDARD = {}
stdlib = standard  # as shared.py calls it


def find_also(directories):
    """Adds directories to the module path for good: packages that were installed for one
    execution stay for those after it. The directories keep their order."""
    at = 1
    for path in directories:
        if path in sys.path:
            at = sys.path.index(path) + 1
        elif path:
            sys.path.insert(at, path)
            at += 1


async def awaited(codes, names, local_names=None):
    """Runs several codes, of which some await; all may create tasks of the loop."""
    value = None
    for code in codes:
        if code is not None:
            value = eval(code, names, local_names)
            if code.co_flags & COROUTINE:
                value = await value
    return value


def expression_at_most(source):
    """Whether the source looks like one expression: one line that begins like one, without text that
    no expression has or that Python would warn of twice. It is then compiled in one step, without
    a tree."""
    return (
        len(source) <= MAX_LINE
        and source.isascii()
        and (source[:1].isalnum() or source[:1] in STARTS)
        and not any(mark in source for mark in ("\n", "\r", "\f", "\\", "=", ";"))
        and source.partition(" ")[0] not in KEYWORDS
    )


MAX_LINE = 400
STARTS = ("_", "(", "[", "{", "'", '"', "-", "+", "~", ".")
KEYWORDS = {"import", "from", "del", "pass", "global", "assert", "raise", "return", "with", "for", "while", "if", "def", "class", "try"}


def add_line(error, source, filename):
    """Adds the source line to an error that the compiler reports without it, such as a return outside of a function."""
    lines = source.splitlines()
    if error.text is None and error.filename == filename and 0 < (error.lineno or 0) <= len(lines):
        error.text = lines[error.lineno - 1]


def silenced(source, node):
    """Whether a semicolon ends the last expression, so that its value is not shown."""
    lines = source.splitlines()
    rest = lines[node.end_lineno - 1].encode()[node.end_col_offset :].strip()
    return rest.startswith(b";")
