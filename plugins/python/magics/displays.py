"""Magics that show or capture output."""


def shown_as(name):
    """A cell magic that shows its body through a class of IPython.display."""

    def show_cell(text, body):
        import IPython.display

        host.display(getattr(IPython.display, name)(body))

    return show_cell


CELL.update({name: shown_as(kind) for name, kind in (
    ("html", "HTML"), ("HTML", "HTML"), ("markdown", "Markdown"), ("latex", "Latex"), ("svg", "SVG"), ("SVG", "SVG"),
    ("javascript", "Javascript"), ("js", "Javascript"),
)})  # fmt: skip


class Captured:
    """The output and displays that %%capture has kept."""

    def __init__(self, out, err, shown):
        self._out, self._err, self._shown = out, err, shown

    @property
    def stdout(self):
        return self._out.getvalue() if self._out else ""

    @property
    def stderr(self):
        return self._err.getvalue() if self._err else ""

    @property
    def outputs(self):
        return [Shown(message) for message in self._shown or ()]

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for message in self._shown or ():
            host.publish(message)

    __call__ = show

    def __str__(self):
        return self.stdout


class Shown:
    """A captured display."""

    def __init__(self, data):
        self.data, self.metadata = data, {}

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data

    def __repr__(self):
        return str(self.data.get("text/plain", ""))

    def display(self):
        host.publish(self.data)


class Capture:
    """Keeps the output and displays of a with statement."""

    def __init__(self, stdout=True, stderr=True, display=True):
        self.wanted = stdout, stderr, display

    def __enter__(self):
        import io

        out, err, display = (make() if wanted else None for wanted, make in zip(self.wanted, (io.StringIO, io.StringIO, list)))
        self.before = sys.stdout, sys.stderr, host.KERNEL.shown
        sys.stdout, sys.stderr = out or sys.stdout, err or sys.stderr
        if display is not None:
            host.KERNEL.shown = display
        return Captured(out, err, display)

    def __exit__(self, *error):
        try:
            if host.KERNEL.shown is not self.before[2]:
                host.figures()
        finally:
            sys.stdout, sys.stderr, host.KERNEL.shown = self.before


@cell("capture")
def capture(text, body):
    rest = words(text)
    without = {word for word in rest if word.startswith("-")}
    names = [word for word in rest if word not in without]
    unknown = without - {"--no-stdout", "--no-stderr", "--no-display"}
    if unknown or len(names) > 1:
        return fail("%%capture takes a name, --no-stdout, --no-stderr and --no-display")
    with Capture(*("--no-" + kind not in without for kind in ("stdout", "stderr", "display"))) as kept:
        if names:
            host.KERNEL.module.__dict__[names[0]] = kept
        value = shell.run_text(body)
        if value is not None:
            host.show(value)
