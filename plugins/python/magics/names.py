"""Magics about the names of user code."""


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
