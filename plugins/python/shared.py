"""Stands before the text of harness.py, and of kernel.py, in the files that sandboxes have:
each is one file, as a second one would be opened and read for every run.
"""

import sys


class Sources:
    """Shows the user's code to whatever asks for its lines, such as traceback and inspect. They
    look in linecache, which costs too much to import without need: until somebody does, this
    waits for it in the import system. No file is looked for by the name that the code has: the
    working directory may hold one of that name, or none."""

    def __init__(self):
        self.text, self.entries = "", {}
        self.readers = [sys.modules["linecache"]] if "linecache" in sys.modules else []

    def keep(self, filename, source):
        self.text = source
        # Without a time of modification linecache never looks for a file.
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
        """What was kept last, as the loader of its module."""
        return self.text

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        if isinstance(getattr(module, "cache", None), dict):  # it is no file of the user's by the same name
            module.cache.update(self.entries)
            self.readers.append(module)


def exit_code(exit):
    """What sys.exit(code) means; a message is printed, as Python does."""
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
    or RecursionError for what JSON cannot hold."""
    try:
        return _write_json(value, "encode_basestring").encode()
    except UnicodeEncodeError:  # half a surrogate pair; in ASCII it can be written
        return _write_json(value, "encode_basestring_ascii").encode()


def _write_json(value, strings):
    try:
        import _json

        encoder = _json.make_encoder({}, _refuse, getattr(_json, strings), None, ":", ",", False, False, False)
    except (ImportError, AttributeError, TypeError):  # a Python with another C part, or none
        ascii_only = strings.endswith("ascii")
        return stdlib("json").dumps(value, ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))
    return "".join(encoder(value, 0))


def _refuse(value):
    raise TypeError(type(value).__name__)


MAX_VALUE = 8 << 20  # bytes of the value of a last expression, in JSON
MAX_LEVELS = 900  # of lists and objects in it


def value_envelope(value):
    """The envelope of the value of a last expression: in JSON where that says the same, else null."""
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
    """The number, the string or the truth value that a scalar of numpy stands for; any other value as it is."""
    numpy = sys.modules.get("numpy")
    return value.item() if isinstance(value, getattr(numpy, "generic", ())) else value


def in_json(value):
    """Whether JSON can hold the value without making something else of it; None if it would be
    too large. It looks at no more than fits, and so ends for a value that is part of itself."""
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
