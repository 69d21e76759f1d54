"""Part of fork.py: the work before the first fork. It imports modules and has them make the
objects that they make once in a process."""

import os
import sys

# The modules that each kernel imports when it starts.
OF_KERNELS = {
    "ipykernel": (
        "asyncio", "logging", "signal", "socket", "ipykernel.ipkernel", "ipykernel.kernelapp", "ipykernel.zmqshell", "jupyter_client.session",
        "tornado.platform.asyncio", "traitlets.config", "IPython.extensions.storemagic",
    ),
}


def prepare(kernel, names):
    """Imports the modules. A kernel that cannot be imported reports it when it starts."""
    private = private_settings()
    try:
        for name in OF_KERNELS.get(kernel, ()):
            try:
                __import__(name)
            except ImportError:
                pass
        for name in names:
            __import__(name)
        if "matplotlib.pyplot" in sys.modules:
            draw()
    finally:
        forget_settings(private)


def private_settings():
    """Gives matplotlib a new directory for its settings and its list of fonts: user code may have
    written to the directory of the forks."""
    import tempfile

    directory = os.environ["MPLCONFIGDIR"] = tempfile.mkdtemp(prefix="yurt-")
    return directory


def forget_settings(directory):
    """Makes matplotlib look up its directory anew in each fork."""
    import shutil

    shutil.rmtree(directory, ignore_errors=True)
    del os.environ["MPLCONFIGDIR"]
    matplotlib = sys.modules.get("matplotlib")
    for name in ("get_configdir", "get_cachedir"):
        function = getattr(matplotlib, name, None)
        original = getattr(function, "__wrapped__", None)
        if original is not None:
            setattr(matplotlib, name, original)


def draw():
    """Draws a figure, so that matplotlib loads its fonts and renderer. It chooses no backend."""
    import io
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    figure.add_subplot().plot([1, 2])
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
