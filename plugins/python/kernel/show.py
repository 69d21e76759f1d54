"""What an execution shows: the MIME types of a value, figures, and display()."""


TEXTS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("text/latex", "_repr_latex_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)


def bundle(value):
    """The MIME bundle of a value, and its metadata left out."""
    if type(value) in SIMPLE:  # which have no other representation
        return {"text/plain": plain(value)}
    data = {}
    if not isinstance(value, type) and not hasattr_safe(value, "_yurt_canary_method_that_no_object_has_"):
        data.update(called(value, "_repr_mimebundle_", include=None, exclude=None) or {})
        for mime, method in TEXTS:
            if mime not in data and hasattr_safe(value, method):
                shown = called(value, method)
                if shown is not None:
                    data[mime] = shown
        if type(value).__name__ == "Figure" and type(value).__module__ == "matplotlib.figure" and "image/png" not in data:
            data["image/png"] = png(value)
        frame_data(value, data)
    if "text/plain" not in data:
        data["text/plain"] = plain(value)
    return data


def hasattr_safe(value, name):
    try:
        return callable(getattr(value, name, None))
    except Exception:
        return False


def called(value, method, **options):
    """What a method of the value that makes a representation returns. One that fails
    costs its own type and nothing else."""
    try:
        function = getattr(value, method, None)
        if not callable(function):
            return None
        shown = function(**options)
    except Exception:
        return None
    return shown[0] if isinstance(shown, tuple) and len(shown) == 2 else shown


def plain(value):
    if type(value) in SIMPLE:
        text = FLOATS["form"] % value if type(value) is float and FLOATS["form"] else repr(value)
        return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "… (%d characters in all)" % len(text)
    try:
        text, whole = part("pretty.py").pretty(value, MAX_TEXT)
        return text if whole else text + "… (the rest is left out)"
    except (RecursionError, OSError):  # nested too deep for the printer; or the file of it was removed
        return repr(value)[:MAX_TEXT]


FLOATS = {"form": None}  # of %precision
SIMPLE = {int, float, complex, bool, str, bytes, type(None)}  # which repr writes as a notebook does
PARTS = {}


def part(name):
    """The module in a file of ours, which is read when it is first needed."""
    if name not in PARTS:
        module = type(sys)("yurt_" + name.partition(".")[0])
        with open(os.path.join(HERE, name), "rb") as file:
            # In our name, for tracebacks to leave it out.
            exec(compile(file.read(), SELF, "exec"), module.__dict__)
        PARTS[name] = module
    return PARTS[name]


def only_defines(source, tree, name):
    """Whether the source only defines things, and a handler of that name among them."""
    return name in source and part("defines.py").only_defines(tree, name)


def frame_data(value, data):
    """A data frame as data: what is in it, with a schema, up to so many rows."""
    if type(value).__module__.partition(".")[0] != "pandas" or type(value).__name__ != "DataFrame":
        return
    try:
        data["application/vnd.dataresource+json"] = decode(value.head(MAX_ROWS).to_json(orient="table").encode())
    except Exception:  # columns of the same name, or what has no JSON
        pass


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def show(value, main=False, display_id=None, update=False):
    publish(bundle(value), main, display_id, update)


def publish(data, main=False, display_id=None, update=False):
    """Tells the host of a display."""
    if KERNEL.shown is not None:
        KERNEL.shown.append(data)
        return
    clean = {}
    for mime, shown in data.items():
        mime = str(mime)
        if not is_type(mime) or len(clean) == MAX_TYPES:
            continue  # the host takes it for a forgery
        if isinstance(shown, (bytes, bytearray)):
            shown = binascii.b2a_base64(shown, newline=False).decode()
        if mime.endswith("json") or isinstance(shown, str):
            try:
                clean[mime] = Raw(encode_value(shown))
            except (TypeError, ValueError, RecursionError):
                pass
        else:
            clean[mime] = str(shown)
    message = {"data": clean, "main": main, "update": update}
    if display_id is not None:
        message["display_id"] = str(display_id)
    if clean and posix.getpid() == KERNEL.pid:
        line = encode({"id": KERNEL.current, "display": message})
        if main:  # nothing but the done comes after it, as a rule
            KERNEL.held += line + b"\n"
        else:
            flush()
            KERNEL.say(line)


def is_type(mime):
    return "/" in mime and " " not in mime and len(mime) <= MAX_TYPE and mime.isascii() and mime.isprintable()


def encode_value(value):
    text = dumps(value)
    if len(text) > MAX_ENVELOPE * 2:
        raise ValueError("too large")
    return text.encode()


def figures():
    """Shows every open figure of matplotlib, and closes it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            publish({"image/png": png(figure), "text/plain": plain(figure)})
    finally:
        pyplot.close("all")


def figures_after_error():
    try:
        figures()
    except BaseException:
        pass


class DisplayHandle:
    """What display(…, display_id=…) returns: lets the display be shown anew."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        update_display(value, display_id=self.display_id, **options)


def display(*values, display_id=None, raw=False, update=False, **ignored):
    """Shows values in as many MIME types as they have, as in a notebook."""
    if display_id is True:
        display_id = binascii.hexlify(os.urandom(8)).decode()
    elif display_id is not None and not (str(display_id).isprintable() and len(str(display_id).encode()) <= MAX_DISPLAY_ID):
        raise ValueError("a display_id has at most %d bytes, and no control characters" % MAX_DISPLAY_ID)
    for value in values:
        if raw:
            publish(value, display_id=display_id, update=update)
        else:
            show(value, display_id=display_id, update=update)
    return DisplayHandle(display_id) if display_id is not None else None


def update_display(value, *, display_id, **options):
    display(value, display_id=display_id, update=True, **options)
