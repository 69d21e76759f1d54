"""Help about names."""


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
