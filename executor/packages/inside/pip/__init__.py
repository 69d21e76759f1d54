# Stands before the real pip: "python -m pip install" asks the node for the packages. All other
# attributes and submodules are those of the real pip.
import os
import sys


def _real():
    here = os.path.dirname(os.path.abspath(__file__))
    for entry in sys.path:
        path = os.path.join(os.path.abspath(entry or "."), "pip")
        init = os.path.join(path, "__init__.py")
        if path != here and os.path.isfile(init):
            __path__.append(path)
            with open(init, "rb") as file:
                return compile(file.read(), init, "exec")
    return None


_program = _real()
if _program is not None:
    exec(_program)
