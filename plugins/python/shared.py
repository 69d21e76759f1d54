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
