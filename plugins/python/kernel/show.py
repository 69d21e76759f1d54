"""Displays of an execution: the MIME types of a value, figures, and display()."""


def bundle(value, include=None, exclude=None):
    """The MIME bundle of a value, without its metadata."""
    if type(value) in SIMPLE and not include and not exclude:  # without other representations
        return {"text/plain": plain(value)}
    if type(value) in CONTAINERS and not include and not exclude:
        try:
            return {"text/plain": plain(value)}
        except Exception:  # from an element's repr; reported below
            pass
    return rich().formatter().format(value, include, exclude)[0]


def plain(value):
    if type(value) in SIMPLE:
        text = FLOATS["form"] % value if type(value) is float and FLOATS["form"] else repr(value)
        return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "… (%d characters in all)" % len(text)
    try:
        text, whole = part("pretty.py").pretty(value, MAX_TEXT)
        return text if whole else text + "… (the rest is left out)"
    except (RecursionError, OSError):  # nested too deep for the printer, or its file was removed
        return repr(value)[:MAX_TEXT]


FLOATS = {"form": None}  # of %precision
SIMPLE = {int, float, complex, bool, str, bytes, type(None)}  # repr writes them as a notebook does
CONTAINERS = {list, tuple, dict, set, frozenset}
PARTS = {}


def part(name):
    """The module in a file of Yurt, which is read at its first use unless a zygote has compiled
    it ahead."""
    if name not in PARTS:
        module = type(sys)("yurt_" + name.partition(".")[0])
        code = globals().get("AHEAD", {}).get(name)
        if code is None:
            with open(os.path.join(HERE, name), "rb") as file:
                # Under this file's name, so that tracebacks omit it.
                code = compile(file.read(), SELF, "exec")
        exec(code, module.__dict__)
        PARTS[name] = module
    return PARTS[name]


def rich():
    """The module of rich.py, which makes representations other than text."""
    module = part("rich.py")
    module.host = OURSELVES
    return module


def only_defines(source, tree, name):
    """Whether the source only defines things, and a handler of that name among them."""
    return name in source and part("defines.py").only_defines(tree, name)


def show(value, main=False, display_id=None, update=False):
    data = bundle(value)
    if data:
        publish(data, main, display_id, update)


def publish(data, main=False, display_id=None, update=False):
    """Sends a display to the host."""
    if KERNEL.shown is not None:
        KERNEL.shown.append(data)
        return
    clean, cut = cleaned(data)
    message = {"data": clean, "main": main, "update": update}
    if display_id is not None:
        message["display_id"] = str(display_id)
    if cut:
        message["cut"] = True
    if clean:
        tell(message)


def tell(message):
    """Sends a display to the host, with the order to clear earlier ones if clear_output(wait=True) ran."""
    if posix.getpid() != KERNEL.pid:
        return
    if CLEARED:
        message["clear"] = True
        CLEARED.clear()
    line = encode({"id": KERNEL.current, "display": message})
    if message.get("main"):  # as a rule, only the "done" follows
        KERNEL.held += line + b"\n"
    else:
        flush()
        KERNEL.say(line)


def cleaned(data):
    """The representations that the host accepts, and whether any was too large."""
    clean, room, cut = {}, MAX_DISPLAY, False
    for mime, shown in data.items():
        mime = str(mime)
        if not is_type(mime) or len(clean) == MAX_TYPES:
            continue  # the host would refuse it as forged
        if isinstance(shown, (bytes, bytearray)):
            shown = binascii.b2a_base64(shown, newline=False).decode()
        try:
            text = encode_value(shown) if mime.endswith("json") or isinstance(shown, str) else encode(str(shown))
        except (TypeError, ValueError, RecursionError):
            continue
        if len(text) > room:
            cut = True
            continue
        room -= len(text)
        clean[mime] = Raw(text)
    return clean, cut


def is_type(mime):
    return "/" in mime and " " not in mime and len(mime) <= MAX_TYPE and mime.isascii() and mime.isprintable()


def encode_value(value):
    return dumps(value).encode()


CLEARED = []  # not empty if the next display clears earlier ones


def clear_output(wait=False):
    """Clears this execution's displays, at once or before the next one. Output stays."""
    if KERNEL.shown is not None:
        KERNEL.shown.clear()
        return
    CLEARED[:] = [True]
    if not wait:
        tell({"data": {}})


def figures():
    """Shows every open figure of matplotlib, and closes it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    try:
        for number in pyplot.get_fignums():
            show(pyplot.figure(number))
    finally:
        pyplot.close("all")


def figures_after_error():
    try:
        figures()
    except BaseException:
        pass


class DisplayHandle:
    """The result of display(…, display_id=…), which can update the display."""

    def __init__(self, display_id=None):
        self.display_id = new_id() if display_id is None else display_id

    def __repr__(self):
        return "<DisplayHandle display_id=%s>" % self.display_id

    def display(self, obj, **options):
        display(obj, display_id=self.display_id, **options)

    def update(self, obj, **options):
        update_display(obj, display_id=self.display_id, **options)


def new_id():
    return binascii.hexlify(os.urandom(16)).decode()


def display(*objs, include=None, exclude=None, transient=None, display_id=None, raw=False, clear=False, update=False, **ignored):
    """Shows values in as many MIME types as they have, as in a notebook."""
    display_id = display_id or (transient or {}).get("display_id")
    if display_id is True:
        display_id = new_id()
    elif display_id is not None and not (str(display_id).isprintable() and len(str(display_id).encode()) <= MAX_DISPLAY_ID):
        raise ValueError("a display_id has at most %d bytes, and no control characters" % MAX_DISPLAY_ID)
    if update and display_id is None:
        raise TypeError("display_id required for update_display")
    if clear:
        clear_output(wait=True)
    for value in objs:
        data = value if raw else bundle(value, include, exclude)
        if data:  # empty if the value displayed itself
            publish(data, display_id=display_id, update=update)
    return DisplayHandle(display_id) if display_id is not None else None


def update_display(obj, *, display_id, **options):
    options["update"] = True
    display(obj, display_id=display_id, **options)


def publish_display_data(data, metadata=None, *, transient=None, update=False, **ignored):
    """Shows ready-made representations."""
    publish(data, display_id=(transient or {}).get("display_id"), update=update)
