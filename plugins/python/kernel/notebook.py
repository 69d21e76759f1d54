"""The names that notebook code expects: IPython.display, get_ipython(), input()."""


class Notebook:
    """The import hook for matplotlib's backend of the kernel and, where IPython is not
    installed, for IPython's display modules."""

    FILES = {"IPython.core.display": "display.py", "IPython.lib.display": "media.py"}
    PACKAGES = ("IPython", "IPython.core", "IPython.lib", "IPython.terminal")
    MODULES = PACKAGES + (
        "IPython.display", "IPython.core.display", "IPython.core.display_functions", "IPython.core.getipython",
        "IPython.core.interactiveshell", "IPython.lib.display", "IPython.lib.pretty", "IPython.lib.latextools",
        "IPython.terminal.interactiveshell", "yurt_matplotlib",
    )  # fmt: skip

    def find_spec(self, name, path=None, target=None):
        if name not in self.MODULES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, is_package=name in self.PACKAGES)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        if name == "yurt_matplotlib":
            from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

            module.FigureCanvas, module.FigureManager = FigureCanvasAgg, FigureManagerBase
            module.show = lambda *ignored, **options: figures()
            return
        # Libraries such as matplotlib read these if IPython is imported.
        module.version_info, module.__version__ = (9, 0, 0, ""), "9.0.0"
        module.get_ipython, module.InteractiveShell = builtins.get_ipython, InteractiveShell
        if name == "IPython":
            module.__getattr__ = submodule
        elif name == "IPython.terminal.interactiveshell":
            module.TerminalInteractiveShell = type("TerminalInteractiveShell", (), {})  # this shell is of no such class
        elif name == "IPython.lib.latextools":
            module.latex_to_png = rich().latex_to_png
        elif name == "IPython.lib.pretty":
            part("pretty.py").furnish(module, MAX_TEXT, rich().formatter().formatters["text/plain"].for_type)
        elif "display" in name:
            functions(module)
        if name in self.FILES:
            with open(os.path.join(HERE, self.FILES[name]), "rb") as file:
                exec(compile(file.read(), name, "exec"), module.__dict__)
        elif name == "IPython.display":
            for path in self.FILES:
                classes = vars(imported(path)).items()
                module.__dict__.update((name, value) for name, value in classes if name[0] != "_" and not isinstance(value, type(sys)))
            module.set_matplotlib_formats = rich().set_matplotlib_formats


def submodule(name):
    """A part of IPython that code may use without importing it, such as IPython.display."""
    path = "IPython." + name
    if path not in Notebook.MODULES:
        raise AttributeError("module 'IPython' has no attribute %r: IPython is not installed, and the module is Yurt's stand-in" % name)
    return imported(path)


def imported(path):
    __import__(path)
    return sys.modules[path]


class Shells(type):
    def __instancecheck__(cls, other):
        return other is builtins.get_ipython()

    def __setattr__(cls, name, value):
        """Sets the attribute of a class for all shells on the only shell."""
        setattr(user_shell(), name, value)


class InteractiveShell(metaclass=Shells):
    """The class from which code gets the shell."""

    @classmethod
    def initialized(cls):
        return True

    @classmethod
    def instance(cls, *ignored, **options):
        return builtins.get_ipython()


def functions(module):
    """Gives a module the display functions."""
    module.display, module.update_display, module.clear_output = display, update_display, clear_output
    module.publish_display_data, module.DisplayHandle = publish_display_data, DisplayHandle


class Formatters:
    """get_ipython().display_formatter, which loads rich.py at its first use."""

    def __getattr__(self, name):
        return getattr(rich().formatter(), name)


class Publisher:
    """get_ipython().display_pub."""

    def publish(self, data, metadata=None, *, transient=None, update=False, **ignored):
        publish_display_data(data, metadata, transient=transient, update=update)

    def clear_output(self, wait=False):
        clear_output(wait)


def its_own_instance(module):
    """Makes the real IPython return this kernel's shell as its own."""
    shell = module.InteractiveShell
    shell.initialized = classmethod(lambda cls: True)
    shell.instance = classmethod(lambda cls, *ignored, **options: builtins.get_ipython())

    class Told(type(shell)):
        def __setattr__(cls, name, value):
            super().__setattr__(name, value)
            if name == "ast_node_interactivity":
                user_shell().ast_node_interactivity = value

    shell.__class__ = Told


def its_magics(module):
    """Gives subclasses of the real IPython's Magics this kernel's shell, which IPython's configuration refuses as a parent."""
    begin = module.Magics.__init__

    def begun(self, shell=None, **options):
        begin(self, None, **options)
        self.shell = shell

    module.Magics.__init__ = begun


def its_get_ipython(module):
    module.get_ipython = builtins.get_ipython


def show_pictures(module):
    """Makes PIL's Image.show display a picture before it tries to start a viewer."""

    class Cell(module.Viewer):
        def show_image(self, image, **options):
            show(image)
            return 1

    module.register(Cell, -1)


def show_saved(module):
    """Makes a picture that the user's code saves to a file shown, too."""
    save = module.Image.save

    def saving(self, fp, *arguments, **options):
        save(self, fp, *arguments, **options)
        if isinstance(fp, (str, bytes)) or hasattr(fp, "__fspath__"):
            if users(sys._getframe(1).f_code.co_filename) and rich().counted():
                show(self)

    saving.__doc__, saving.__name__ = save.__doc__, save.__name__
    module.Image.save = saving


def ask_for_password(module):
    """Makes getpass read the request's stdin, without a terminal."""
    module.getpass = lambda prompt="Password: ", stream=None, **ignored: ask(prompt)


def bars_as_text(module):
    """Makes tqdm.notebook write its bars as text where it lacks ipywidgets, without which it has none."""
    if module.IProgress is None:
        from tqdm import std

        module.tqdm = module.tqdm_notebook = std.tqdm
        module.trange = module.tnrange = std.trange


class Fitted:
    """Adapts modules to the notebook when they are imported, or at once if they were imported before the fork."""

    FUNCTIONS = {
        "getpass": ask_for_password,
        "PIL.ImageShow": show_pictures,
        "PIL.Image": show_saved,
        "tqdm.notebook": bars_as_text,
        "IPython.core.display_functions": functions,
        "IPython.core.getipython": its_get_ipython,
        "IPython.core.interactiveshell": its_own_instance,
        "IPython.core.magic": its_magics,
    }

    def __init__(self, names):
        self.names, self.loaders = set(names), {}
        for name in names:
            if name in sys.modules:
                self.fit(sys.modules[name])

    def adopt(self):
        """Adapts the modules that were imported before the fork."""
        for name in self.names.intersection(sys.modules):
            self.fit(sys.modules[name])

    def find_spec(self, name, path=None, target=None):
        if name not in self.names or name in self.loaders:
            return None
        self.loaders[name] = None  # no recursion; the other finders are asked below
        try:
            for finder in sys.meta_path:
                spec = finder.find_spec(name, path, target) if finder is not self and hasattr(finder, "find_spec") else None
                if spec is not None and hasattr(spec.loader, "exec_module"):
                    self.loaders[name], spec.loader = spec.loader, self
                    return spec
        finally:
            if self.loaders[name] is None:
                del self.loaders[name]
        return None

    def create_module(self, spec):
        return self.loaders[spec.name].create_module(spec)

    def exec_module(self, module):
        name = module.__name__
        loader = self.loaders.pop(name)
        module.__loader__ = module.__spec__.loader = loader
        loader.exec_module(module)
        self.fit(module)

    def fit(self, module):
        try:
            self.FUNCTIONS[module.__name__](module)
        except Exception:  # another version of the module, which stays unchanged
            pass


class Backend:
    """Sets matplotlib's backend when it is imported: not by the environment, which other
    processes would inherit."""

    NAME = "MPLBACKEND"

    def __init__(self):
        self.set, self.module = False, "module://yurt_matplotlib"

    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib" and not os.environ.get(self.NAME):
            os.environ[self.NAME], self.set = self.module, True
        return None

    def adopt(self):
        """Sets the backend of a matplotlib that was imported before the fork, unless it has
        one."""
        matplotlib = sys.modules.get("matplotlib")
        if matplotlib is not None:
            matplotlib.rcParams["backend"] = os.environ.get(self.NAME) or self.module

    def forget(self):
        if self.set:
            os.environ.pop(self.NAME, None)
            self.set = False


def furnish(kernel):
    """Makes the module of the user's code, with the names that notebooks have."""
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    kernel.module = sys.modules["__main__"] = module
    module.__dict__["display"] = display
    kernel.history.place(module.__dict__)
    builtins.input = ask
    builtins.exit, builtins.quit = Leave("exit"), Leave("quit")
    shell = ZMQInteractiveShell()
    shell.display_formatter, shell.display_pub, shell.colors = Formatters(), Publisher(), "nocolor"
    builtins.get_ipython = lambda: shell
    sys.path.insert(0, WORKSPACE)
    fitted = Fitted(Fitted.FUNCTIONS)
    sys.meta_path[:0] = [BACKEND, SOURCES, fitted]
    sys.meta_path.append(Notebook())
    sys.meta_path.append(Extensions())
    adapt_asyncio()
    fitted.adopt()
    BACKEND.adopt()


class Stdin(io.TextIOWrapper):
    """The stdin of the request. input() fails at its end, as no user can type more."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data), encoding="utf-8", errors="replace")

    def fileno(self):
        raise io.UnsupportedOperation("standard input is the stdin of the request, not a file")


def ask(prompt="", /):
    """input(), from the stdin of the request."""
    sys.stdout.write(str(prompt))
    line = sys.stdin.readline()
    if not line:
        raise EOFError("input(): no user is there to answer; give the answers as stdin of the request, a line each")
    return line[:-1] if line.endswith("\n") else line
