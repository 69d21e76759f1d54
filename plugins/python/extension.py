"""Stand-ins for IPython's modules that add magics or capture displays, for templates without
IPython. Read when code imports one of them.

kernel.py sets the name host to itself.
"""

host = None


class Magics:
    """The class that holds magics."""

    registry, options_table = None, {}

    def __init__(self, shell=None, **options):
        self.shell = shell

    def parse_options(self, text, flags, *long, **ignored):
        """The options and the text after them."""
        given, rest = host.magics_part().options(text, flags, "the magic")
        return Options(given), rest


class Options(dict):
    """Options as attributes; one that was not given is None."""

    __getattr__ = dict.get


def magics_class(kind):
    return kind


def marker(kinds):
    """A decorator that makes a method a magic, with the method's name or another."""

    def mark(name):
        def marked(function):
            own = name if isinstance(name, str) else function.__name__
            function._yurt_magics = getattr(function, "_yurt_magics", ()) + tuple((kind, own) for kind in kinds)
            return function

        return marked if isinstance(name, str) else marked(name)

    return mark


def registrar(kind):
    """A decorator that makes a function a magic at once."""

    def register(name):
        def registered(function):
            host.user_shell().register_magic_function(function, kind, name if isinstance(name, str) else function.__name__)
            return function

        return registered if isinstance(name, str) else registered(name)

    return register


def needs_local_scope(function):
    function.needs_local_scope = True
    return function


def no_var_expand(function):
    function._ipython_magic_no_var_expand = True
    return function


def output_can_be_silenced(function):
    return function


# Arguments of magics, which argparse reads


class argument:
    """A decorator that gives a magic one more argument."""

    def __init__(self, *names, **options):
        self.given = names, options

    def __call__(self, function):
        function._yurt_arguments = [self.given] + getattr(function, "_yurt_arguments", [])
        return function


def magic_arguments(name=None):
    def finished(function):
        function.parser = parser_of(function, name)
        return function

    return finished


def parser_of(function, name):
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message):
            raise host.shell_part().UsageError(message)

        def parse_argstring(self, text, **ignored):
            return self.parse_args(host.magics_part().words(text))

    parser = Parser(prog="%" + (name or function.__name__), add_help=False, description=function.__doc__)
    for names, options in getattr(function, "_yurt_arguments", ()):
        parser.add_argument(*names, **options)
    return parser


def parse_argstring(function, text, **ignored):
    return function.parser.parse_argstring(text)


def names_of(module):
    """The names of a stand-in module."""
    if module == "IPython.core.magic":
        made = {"register_%s_magic" % kind: registrar(kind) for kind in ("line", "cell", "line_cell")}
        made.update(line_magic=marker(("line",)), cell_magic=marker(("cell",)), line_cell_magic=marker(("line", "cell")))
        for thing in (Magics, magics_class, needs_local_scope, no_var_expand, output_can_be_silenced):
            made[thing.__name__] = thing
        return made
    if module == "IPython.core.magic_arguments":
        return {"argument": argument, "magic_arguments": magic_arguments, "parse_argstring": parse_argstring}
    if module == "IPython.core.error":
        return {"UsageError": host.shell_part().UsageError, "IPythonCoreError": Exception, "StdinNotImplementedError": NotImplementedError}
    if module == "IPython.utils.capture":
        return {"capture_output": host.magics_part().Capture, "CapturedIO": host.magics_part().Captured}
    if module == "IPython.utils.io":
        return {"capture_output": host.magics_part().Capture}
    return {}
