"""The names that code of a notebook expects: IPython.display, get_ipython(), input()."""


class Notebook:
    """Finds, where IPython is not installed, the part of it that shows things, and
    the backend of matplotlib that shows figures through here."""

    MODULES = ("IPython", "IPython.display", "IPython.core", "IPython.core.display", "yurt_matplotlib")

    def find_spec(self, name, path=None, target=None):
        if name not in self.MODULES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, is_package=name in ("IPython", "IPython.core"))

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ == "yurt_matplotlib":
            from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

            module.FigureCanvas, module.FigureManager = FigureCanvasAgg, FigureManagerBase
            module.show = lambda *ignored, **options: figures()
            return
        module.get_ipython = builtins.get_ipython
        # What is asked for by libraries that find IPython imported, matplotlib among them.
        module.version_info, module.__version__ = (9, 0, 0, ""), "9.0.0"
        if module.__name__.endswith("display"):
            with open(os.path.join(HERE, "display.py"), "rb") as file:
                exec(compile(file.read(), module.__name__, "exec"), module.__dict__)
            module.display, module.update_display, module.DisplayHandle = display, update_display, DisplayHandle
            module.publish_display_data = lambda data, *ignored, **options: publish(data)


class Backend:
    """Has matplotlib, when it is imported here, take our backend: not by the
    environment, which other processes inherit."""

    NAME = "MPLBACKEND"

    def __init__(self):
        self.set = False

    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib" and not os.environ.get(self.NAME):
            os.environ[self.NAME], self.set = "module://yurt_matplotlib", True
        return None

    def forget(self):
        if self.set:
            os.environ.pop(self.NAME, None)
            self.set = False


def furnish(kernel):
    """Makes the module that the user's code is in, and what it expects of a notebook."""
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    kernel.module = sys.modules["__main__"] = module
    module.__dict__["display"] = display
    kernel.history.place(module.__dict__)
    builtins.input = ask
    builtins.exit, builtins.quit = Leave("exit"), Leave("quit")
    shell = ZMQInteractiveShell()
    builtins.get_ipython = lambda: shell
    sys.path.insert(0, WORKSPACE)
    sys.meta_path[:0] = [BACKEND, SOURCES]
    sys.meta_path.append(Notebook())
    adapt_asyncio()


class Stdin(io.TextIOWrapper):
    """What the request gave. input() beyond its end is refused: nobody is there to type."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data), encoding="utf-8", errors="replace")

    def fileno(self):
        raise io.UnsupportedOperation("standard input is what the request gave; it is no file")


def ask(prompt="", /):
    """input(), from what the request gave."""
    sys.stdout.write(str(prompt))
    line = sys.stdin.readline()
    if not line:
        raise EOFError("input(): nobody is there to answer; give the answers as stdin of the request, a line each")
    return line[:-1] if line.endswith("\n") else line
