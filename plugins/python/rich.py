"""The MIME representations of a value, found in IPython's way, and the data of figures, frames and
pictures. kernel.py reads this at the first value that has more than text, and sets the name host
to itself.
"""

import io
import sys

host = None

MAX_ROWS = 1000  # of a frame, as data
MAX_CELLS = 200_000
MAX_FRAME = 2 << 20  # bytes
MAX_SAVED = 8  # saved pictures that are shown for an execution

FRAME = "application/vnd.dataresource+json"
CHART = "application/vnd.yurt.chart+json"

TEXT, IMAGE, VALUE = (str,), (bytes, str), (dict, list)
TYPES = (  # in the order in which IPython asks for them
    ("text/html", "_repr_html_", TEXT),
    ("text/markdown", "_repr_markdown_", TEXT),
    ("image/svg+xml", "_repr_svg_", TEXT),
    ("image/png", "_repr_png_", IMAGE),
    ("application/pdf", "_repr_pdf_", IMAGE),
    ("image/jpeg", "_repr_jpeg_", IMAGE),
    ("text/latex", "_repr_latex_", TEXT),
    ("application/json", "_repr_json_", VALUE),
    ("application/javascript", "_repr_javascript_", TEXT),
)


def attempt(function, *arguments, **options):
    """Calls a user's function that makes a representation. If it fails, only that type is missing:
    its traceback is shown, and the cell continues."""
    try:
        return function(*arguments, **options)
    except NotImplementedError:
        return None
    except Exception as error:
        host.show_traceback(error)
        return None


def method(value, name):
    """The method of a value; None for a class and for an object that claims every name."""
    try:
        if isinstance(value, type) or getattr(value, "_ipython_canary_method_should_not_exist_", None) is not None:
            return None
        found = getattr(value, name, None)
    except Exception:
        return None
    return found if callable(found) else None


def pair(shown):
    """A representation and its metadata."""
    return shown if isinstance(shown, tuple) and len(shown) == 2 else (shown, None)


class Formatter:
    """Makes one MIME type of values, by a function that is registered for their class or by their method."""

    def __init__(self, mime, name, kinds, otherwise=None):
        self.format_type, self.print_method, self.kinds, self.otherwise = mime, name, kinds, otherwise
        self.enabled = True
        self.type_printers, self.deferred_printers = {}, {}

    def lookup_by_type(self, typ):
        """The function for a class, or for the first of its bases that has one."""
        if isinstance(typ, str):
            return self.deferred_printers[tuple(typ.rsplit(".", 1))]
        for cls in typ.__mro__:
            name = cls.__module__, cls.__name__
            if name in self.deferred_printers:
                self.type_printers[cls] = self.deferred_printers.pop(name)
            if cls in self.type_printers:
                return self.type_printers[cls]
        raise KeyError("no function is registered for %r" % typ)

    def lookup(self, value):
        return self.lookup_by_type(type(value))

    @staticmethod
    def asked():
        """Ends the shortcut for numbers, strings and lists, as user code may now format them, too."""
        host.SIMPLE.clear()
        host.CONTAINERS.clear()

    def known(self, typ):
        try:
            return self.lookup_by_type(typ)
        except KeyError:
            return None

    def __contains__(self, typ):
        return self.known(typ) is not None

    def for_type(self, typ, func=None):
        """Registers a function for a class, or for its module and name; returns the earlier function."""
        if isinstance(typ, str):
            module, _, name = typ.rpartition(".")
            return self.for_type_by_name(module, name, func)
        before = self.known(typ)
        if func is not None:
            self.asked()
            self.type_printers[typ] = func
        return before

    def for_type_by_name(self, type_module, type_name, func=None):
        name = type_module, type_name
        for cls in list(self.type_printers):
            if (cls.__module__, cls.__name__) == name:
                return self.for_type(cls, func)
        before = self.deferred_printers.get(name)
        if func is not None:
            self.asked()
            self.deferred_printers[name] = func
        return before

    def pop(self, typ, *default):
        before = self.known(typ)
        if before is None:
            if default:
                return default[0]
            raise KeyError("no function is registered for %r" % typ)
        self.type_printers.pop(typ, None)
        return before

    def __call__(self, value):
        if not self.enabled:
            return None
        function = self.known(type(value))
        if function is not None:
            return self.right(attempt(function, value))
        found = method(value, self.print_method)
        if found is not None:
            return self.right(attempt(found))
        return self.otherwise(value) if self.otherwise is not None else None

    def right(self, shown):
        """The representation, if its Python type suits the MIME type."""
        if shown is None or isinstance(pair(shown)[0], self.kinds):
            return shown
        kinds = " or ".join(kind.__name__ for kind in self.kinds)
        sys.stderr.write("%s: a representation is of type %s, and has to be %s\n" % (self.format_type, type(pair(shown)[0]).__name__, kinds))
        return None


class Plain(Formatter):
    """Makes text of values; registered functions also get the printer."""

    def __init__(self):
        super().__init__("text/plain", "_repr_pretty_", TEXT)
        layout = host.part("pretty.py")
        self.type_printers, self.deferred_printers = layout.KNOWN, layout.NAMED

    def __call__(self, value):
        return attempt(host.plain, value)


class DisplayFormatter:
    """The object get_ipython().display_formatter."""

    def __init__(self):
        self.formatters = {"text/plain": Plain()}
        for mime, name, kinds in TYPES:
            self.formatters[mime] = Formatter(mime, name, kinds)
        self.formatters[FRAME] = Formatter(FRAME, "_repr_table_schema_", VALUE, frame_data)
        self.formatters[CHART] = Formatter(CHART, "_repr_chart_", VALUE, chart_data)
        self.mimebundle_formatter = Formatter("mimebundle", "_repr_mimebundle_", VALUE)
        self.ipython_display_formatter = Formatter("display", "_ipython_display_", (object,))
        use_formats(self, "png")

    @property
    def format_types(self):
        return list(self.formatters)

    active_types = format_types

    def format(self, value, include=None, exclude=None):
        """The representations of a value and their metadata."""
        if self.shows_itself(value):
            return {}, {}
        data, about = self.bundled(value, include, exclude)
        for mime, formatter in self.formatters.items():
            if include and mime not in include or exclude and mime in exclude:
                continue
            if mime in data and formatter.known(type(value)) is None:
                continue
            shown, said = pair(formatter(value))
            if shown is not None:
                data[mime] = shown
            if said is not None:
                about[mime] = said
        return data, about

    def shows_itself(self, value):
        function = self.ipython_display_formatter.known(type(value))
        found = method(value, "_ipython_display_")
        if function is not None:
            attempt(function, value)
        elif found is not None:
            attempt(found)
        return function is not None or found is not None

    def bundled(self, value, include, exclude):
        """The result of _repr_mimebundle_, of the requested types."""
        function, found = self.mimebundle_formatter.known(type(value)), method(value, "_repr_mimebundle_")
        if function is not None:
            data, about = pair(attempt(function, value))
        elif found is not None:
            data, about = pair(attempt(found, include=include, exclude=exclude))
        else:
            return {}, {}
        asked = lambda mime: (not include or mime in include) and (not exclude or mime not in exclude)  # noqa: E731
        data = {mime: shown for mime, shown in data.items() if asked(mime)} if isinstance(data, dict) else {}
        return data, {mime: said for mime, said in about.items() if asked(mime)} if isinstance(about, dict) else {}


FORMATTER = []


def formatter():
    """The only formatter of this interpreter."""
    if not FORMATTER:
        FORMATTER.append(DisplayFormatter())
    return FORMATTER[0]


# Figures of matplotlib.

PICTURES = {"png": "image/png", "png2x": "image/png", "retina": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "svg": "image/svg+xml", "pdf": "application/pdf"}
FIGURE = "matplotlib.figure", "Figure"


def use_formats(display, *formats, **options):
    """Sets the formats of figures: png, retina, jpeg, svg, pdf."""
    for name in formats:
        if name not in PICTURES:
            raise ValueError("a figure is shown as %s; %r is none of these" % (", ".join(sorted(PICTURES)), name))
    for mime in set(PICTURES.values()):
        one = display.formatters[mime]
        one.deferred_printers.pop(FIGURE, None)
        for cls in [cls for cls in one.type_printers if (cls.__module__, cls.__name__) == FIGURE]:
            del one.type_printers[cls]
    for name in formats:
        display.formatters[PICTURES[name]].deferred_printers[FIGURE] = lambda figure, name=name: picture(figure, name, options)


def set_matplotlib_formats(*formats, **options):
    use_formats(formatter(), *formats, **options)


def picture(figure, name, options):
    """A figure as a picture, or None if it is empty."""
    if not figure.axes and not figure.lines:
        return None
    twice = name in ("retina", "png2x")
    chosen = {"format": "png" if twice else name, "bbox_inches": "tight", "dpi": figure.dpi * (2 if twice else 1)}
    chosen.update(options)
    buffer = io.BytesIO()
    figure.savefig(buffer, **chosen)
    return buffer.getvalue().decode() if name == "svg" else buffer.getvalue()


def latex_to_png(s, encode=False, backend=None, wrap=False, color="Black", scale=1.0):
    """A formula as a picture, as IPython makes it with matplotlib; None if matplotlib cannot."""
    try:
        import matplotlib
        from matplotlib import font_manager, mathtext
    except ImportError:
        return None
    text, buffer = s.replace("$$", "$"), io.BytesIO()
    size = font_manager.FontProperties(size=12)
    try:
        with matplotlib.rc_context({"savefig.transparent": True}):
            mathtext.math_to_image("$%s$" % text if wrap else text, buffer, size, 120 * scale, "png", color=color)
    except (ValueError, RuntimeError):
        return None
    return host.binascii.b2a_base64(buffer.getvalue()) if encode else buffer.getvalue()


def chart_data(value):
    """A figure as data: its charts and their series."""
    if "matplotlib.figure" not in sys.modules or not isinstance(value, sys.modules["matplotlib.figure"].Figure):
        return None
    warnings = host.standard("warnings")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return host.part("charts.py").figure_data(value)
    except Exception:  # an unknown version of matplotlib, or an unfinished figure
        return None


# Frames of pandas and polars.


def frame_data(value):
    """A data frame as data: its first rows with a schema."""
    library, _, _ = type(value).__module__.partition(".")
    if library not in ("pandas", "polars") or type(value).__name__ != "DataFrame":
        return None
    make = pandas_rows if library == "pandas" else polars_rows
    rows = max(1, min(MAX_ROWS, MAX_CELLS // max(1, value.shape[1])))
    try:
        text = make(value.head(rows))
        if len(text) > MAX_FRAME:
            rows = max(1, rows * MAX_FRAME // len(text) * 3 // 4)
            text = make(value.head(rows))
        if len(text) > MAX_FRAME:
            return None
        data = host.decode(text.encode())
    except Exception:  # columns of the same name, or values without JSON
        return None
    if rows < value.shape[0]:
        data.update(truncated=True, rows=value.shape[0])
    return data


def pandas_rows(frame):
    if not frame.columns.is_unique:
        raise ValueError("a row in JSON has each name once")
    return frame.to_json(orient="table")


def polars_rows(frame):
    kinds = {"Int": "integer", "UInt": "integer", "Float": "number", "Decimal": "number", "Boolean": "boolean", "Date": "date", "Datetime": "datetime", "Duration": "duration"}
    fields = []
    for name, kind in frame.schema.items():
        kind = str(kind).partition("(")[0].rstrip("0123456789")
        fields.append({"name": name, "type": kinds.get(kind, "string")})
    rows = [{name: simple(item) for name, item in row.items()} for row in frame.to_dicts()]
    return host.dumps({"schema": {"fields": fields}, "data": rows})


def simple(item):
    if item is None or isinstance(item, (bool, int, str)):
        return item
    if isinstance(item, float):
        return item if item - item == 0 else None
    return item.isoformat() if hasattr(item, "isoformat") else str(item)


# Pictures of Pillow.

SAVED = {"of": None, "count": 0}


def counted():
    """Counts a saved picture and returns whether it is among the first few, which are shown."""
    if SAVED["of"] != host.KERNEL.current:
        SAVED.update(of=host.KERNEL.current, count=0)
    SAVED["count"] += 1
    return SAVED["count"] <= MAX_SAVED


def enrich(shell):
    """Makes IPython's own shell show frames and figures as data, too."""
    from IPython.core.formatters import JSONFormatter
    from traitlets import ObjectName, Unicode

    def added(mime, name, make):
        class Data(JSONFormatter):
            format_type, print_method = Unicode(mime), ObjectName(name)

            def __call__(self, value):
                made = make(value) if self.enabled else None
                return made if made is not None else super().__call__(value)

        shell.display_formatter.formatters[mime] = Data(parent=shell.display_formatter)

    added(FRAME, "_repr_table_schema_", frame_data)
    added(CHART, "_repr_chart_", chart_data)
