"""IPython's syntax in cells, and the shell that get_ipython() returns. The larger part is in files
that are read when code first needs them: syntax.py, shell.py and magics.py."""

# A cell of one line that begins with one of these calls the magic, unless user code has set the name.
AUTOMAGIC = {
    "alias", "cat", "cd", "conda", "cp", "env", "history", "less", "ls", "lsmagic", "magic", "man", "matplotlib", "mkdir",
    "more", "mv", "pip", "precision", "pwd", "rm", "rmdir", "run", "time", "timeit", "uv", "who", "who_ls", "whos",
}  # fmt: skip
ASSIGNMENTS = "=", ","


class ZMQInteractiveShell:
    """The shell of get_ipython(). By this class name and by "kernel", libraries recognise a
    notebook, and pandas decides how much of a frame to show."""

    __module__ = "ipykernel.zmqshell"  # plotly recognises a notebook by it
    kernel, config = True, {}

    def __getattr__(self, name):
        if name.startswith("__") or type(self) is not ZMQInteractiveShell:
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        self.__class__ = shell_part().ZMQInteractiveShell
        self.begin()
        return getattr(self, name)


def shell_part():
    """The module of shell.py. Its name host refers to this program."""
    module = part("shell.py")
    module.host = OURSELVES
    return module


def magics_part():
    """The module of magics.py, which implements magics."""
    module = part("magics.py")
    module.host, module.shell = OURSELVES, shell_part()
    return module


def user_shell():
    """The shell, completed by shell.py."""
    if KERNEL.shell is None:
        builtins.get_ipython().events
    return KERNEL.shell


class Extensions:
    """The import hook for IPython's modules of magics, where IPython is not installed."""

    PACKAGES = ("IPython.utils",)
    MODULES = PACKAGES + (
        "IPython.core.error", "IPython.core.magic", "IPython.core.magic_arguments", "IPython.utils.capture", "IPython.utils.io",
    )  # fmt: skip

    def find_spec(self, name, path=None, target=None):
        if name not in self.MODULES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, is_package=name in self.PACKAGES)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        extension = part("extension.py")
        extension.host = OURSELVES
        module.__dict__.update(extension.names_of(module.__name__))


def automagic(source, names):
    """The source as a call of a magic, if its line begins like one and is no Python; else None."""
    line = source.strip()
    word, _, rest = line.partition(" ")
    if word not in AUTOMAGIC or "\n" in line or word in names or rest.lstrip().startswith(ASSIGNMENTS):
        return None
    return "%" + line


def of_macro(source, names):
    """The code of the macro that a cell names; else the source."""
    value = names.get(source.strip())
    kind = type(value)
    return value.value if kind.__name__ == "Macro" and kind.__module__ == "IPython.core.macro" else source


def may_differ(source):
    """A quick check for IPython's syntax: few cells that do not compile have any."""
    return (
        any(mark in source for mark in ("%", "!", "?", ">>>", "In ["))
        or source.lstrip("\n")[:1] in (" ", "\t")
        or source.lstrip()[:1] in (",", ";", "/")
        or any(mark in source for mark in ("\n,", "\n;", "\n/"))
    )


def translated(source, filename, flags):
    """The tree and the source of a cell after translating IPython's syntax to Python; None if the
    cell has no such syntax."""
    if not may_differ(source):
        return None
    syntax = part("syntax.py")
    made, changed = syntax.translate(source)
    if made == source:
        return None
    tree = compile(made, filename, "exec", flags | ONLY_AST, True)
    if syntax.AWAITS in made:
        try:
            compile(tree, filename, "exec", flags, True)
        except SyntaxError:  # the line is in a function that is not async
            made, changed = syntax.translate(source, awaits=False)
            tree = compile(made, filename, "exec", flags | ONLY_AST, True)
    return syntax.blame(tree, changed, source.split("\n"), made.split("\n")), made


class Leave:
    """exit and quit, which end a cell and not the interpreter."""

    def __init__(self, name):
        self.name = name

    def __call__(self, code=None):
        raise SystemExit(code)

    def __repr__(self):
        return "%s() ends the cell" % self.name
