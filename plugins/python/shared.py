"""The beginning of harness.py and of kernel.py in sandboxes: its text is joined to theirs, as
each run would have to open and read a second file.
"""

import sys


class Sources:
    """Gives the lines of the user's code to modules such as traceback and inspect. They read
    linecache, which is too slow to import for each run: an import hook adds the code when
    another module imports linecache. linecache must not read a file of the code's name, as
    the working directory may hold another file of that name."""

    def __init__(self):
        self.text, self.entries = "", {}
        self.readers = [sys.modules["linecache"]] if "linecache" in sys.modules else []

    def keep(self, filename, source):
        self.text = source
        self.add(filename, source)

    def add(self, filename, source):
        """Keeps the code of another name."""
        # Without a modification time, linecache never reads the file.
        self.entries[filename] = (len(source), None, source.splitlines(True), filename)
        for linecache in self.readers:
            linecache.cache[filename] = self.entries[filename]

    def find_spec(self, name, path=None, target=None):
        if name != "linecache":
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not self else None
            if spec is not None:
                self.loader, spec.loader = spec.loader, self
                return spec

    def get_source(self, name):
        """The text that was kept last. Loaders have this method."""
        return self.text

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        if isinstance(getattr(module, "cache", None), dict):  # not a user's module of the same name
            module.cache.update(self.entries)
            self.readers.append(module)


def exit_code(exit):
    """The exit status of sys.exit(code). Prints a message as Python does."""
    code = exit.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        sys.stderr.write("%s\n" % (code,))
    except Exception:
        pass
    return 1


def write_json(value):
    """Strict json.dumps to bytes, without importing json: raises TypeError, ValueError
    or RecursionError for a value that JSON cannot hold."""
    try:
        return _write_json(value, "encode_basestring").encode()
    except UnicodeEncodeError:  # half a surrogate pair; ASCII can escape it
        return _write_json(value, "encode_basestring_ascii").encode()


def _write_json(value, strings):
    try:
        import _json

        encoder = _json.make_encoder({}, _refuse, getattr(_json, strings), None, ":", ",", False, False, False)
    except (ImportError, AttributeError, TypeError):  # this Python has another C part, or lacks it
        ascii_only = strings.endswith("ascii")
        return stdlib("json").dumps(value, ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))
    return "".join(encoder(value, 0))


def _refuse(value):
    raise TypeError(type(value).__name__)


MAX_VALUE = 8 << 20  # bytes of the value of a last expression, in JSON
MAX_LEVELS = 900  # of lists and objects in it


def value_envelope(value):
    """The envelope of a last expression's value: as JSON if that holds it exactly, else null."""
    if value is None:
        return b'{"result":null}'
    try:
        if type(value).__module__ == "numpy":
            value = of_numpy(value)
        fits = in_json(value)
        data = write_json(value) if fits else b"null"
    except (TypeError, ValueError, RecursionError):
        fits, data = False, b"null"
    if fits is None or len(data) > MAX_VALUE:
        return b'{"result":null,"cut":true}'
    return b'{"result":' + data + b"}"


def of_numpy(value):
    """The number, string or bool of a numpy scalar; any other value unchanged."""
    numpy = sys.modules.get("numpy")
    return value.item() if isinstance(value, getattr(numpy, "generic", ())) else value


def in_json(value):
    """Whether JSON can hold the value exactly; None if the JSON would be too large. It reads no
    more than fits, so that it ends for a value that contains itself."""
    level, room = [value], MAX_VALUE
    for _ in range(MAX_LEVELS):
        inner = []
        for item in level:
            kind = type(item)
            if kind is str:
                room -= len(item)
            elif kind is int:
                if not -(1 << 53) <= item <= 1 << 53:
                    return False
            elif kind is list or kind is tuple:
                room -= 2 * len(item)
                if room < 0:
                    return None
                inner.extend(item)
            elif kind is dict:
                room -= 5 * len(item)
                if room < 0:
                    return None
                for key in item:
                    if type(key) is not str:
                        return False
                    room -= len(key)
                inner.extend(item.values())
            elif kind is float:
                if item - item != 0:  # infinite, or NaN
                    return False
            elif kind is not bool and item is not None:
                return False
        if room < 0:
            return None
        if not inner:
            return True
        level = inner
    return False
