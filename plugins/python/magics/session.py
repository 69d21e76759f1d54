"""Magics about the shell itself."""


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


@line("debug")
def debug(text):
    """Enters the debugger where the last error was raised. Its commands are the rest of the execution's stdin."""
    if getattr(sys, "last_traceback", None) is None:
        return fail("%debug inspects the last error in this interpreter, and there has been none")
    commands = sys.stdin.read()
    if not commands.strip():
        return fail(
            "%debug has no terminal: give its commands as stdin of the request, a line each, such as p x and up; "
            "sys.last_traceback.tb_frame.f_locals has the names of the first frame"
        )
    sys.stdin = host.Stdin(commands.encode())
    host.standard("pdb").post_mortem(sys.last_traceback)


@line("tb")
def last_traceback(text):
    if getattr(sys, "last_value", None) is None:
        return fail("no traceback has been produced")
    host.standard("traceback").print_exception(type(sys.last_value), sys.last_value, sys.last_traceback)


@line("pylab")
def pylab(text):
    exec("import numpy, matplotlib\nfrom matplotlib import pyplot\nfrom pylab import *\nnp, plt = numpy, pyplot", host.KERNEL.module.__dict__)
