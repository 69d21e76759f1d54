"""The display classes of IPython.core.display, for templates without IPython: each shows the same
as IPython's class of that name. kernel.py adds the functions."""

import binascii
import html
import os
import struct

RAW = {  # the functions that show one type
    "pretty": "text/plain", "html": "text/html", "markdown": "text/markdown", "svg": "image/svg+xml", "png": "image/png",
    "jpeg": "image/jpeg", "webp": "image/webp", "latex": "text/latex", "json": "application/json",
    "javascript": "application/javascript", "pdf": "application/pdf",
}  # fmt: skip


def shower(name, mime):
    def function(*objs, raw=False, metadata=None):
        display(*[{mime: one} for one in objs] if raw else objs, raw=raw, include=[mime])  # noqa: F821 kernel.py adds it

    function.__name__ = function.__qualname__ = "display_" + name
    function.__doc__ = "Shows the objects as %s alone; with raw=True they are of that type already." % mime
    return function


globals().update(("display_" + name, shower(name, mime)) for name, mime in RAW.items())


def there(path):
    try:
        return os.path.exists(path)
    except (OSError, ValueError):
        return False


def fetched(url):
    """The data at a URL, as text where its type has a charset."""
    from urllib.request import urlopen

    with urlopen(url) as response:
        data, charset = response.read(), response.headers.get_content_charset()
        if response.headers.get("content-encoding") == "gzip":
            import gzip

            data = gzip.decompress(data)
    return data.decode(charset, "replace") if charset else data


class DisplayObject:
    """Data to show, or the content of a file or a URL."""

    _read_flags = "r"
    metadata = None

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if isinstance(data, os.PathLike):
            data = str(data)
        if isinstance(data, str):
            if data.startswith("http") and url is None:
                data, url, filename = None, data, None
            elif filename is None and there(data):
                data, url, filename = None, None, data
        self.url, self.filename, self.data = url, filename, data
        if metadata is not None:
            self.metadata = metadata
        elif self.metadata is None:
            self.metadata = {}
        self.reload()
        self._check_data()

    def __repr__(self):
        return "<%s.%s object>" % (type(self).__module__, type(self).__name__)

    def _check_data(self):
        pass

    def _data_and_metadata(self):
        return (self.data, dict(self.metadata)) if self.metadata else self.data

    def reload(self):
        """Reads the file or the URL again."""
        if self.filename is not None:
            with open(self.filename, self._read_flags, encoding=None if "b" in self._read_flags else "utf-8") as file:
                self.data = file.read()
        elif self.url is not None:
            self.data = fetched(self.url)


class TextDisplayObject(DisplayObject):
    def _check_data(self):
        if self.data is not None and not isinstance(self.data, str):
            raise TypeError("%s expects text, not %r" % (type(self).__name__, self.data))


class Pretty(TextDisplayObject):
    def _repr_pretty_(self, p, cycle):
        return p.text(self.data)


class HTML(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if isinstance(data, str) and data[:10].lower().startswith("<iframe ") and data[-10:].lower().endswith("</iframe>"):
            import warnings

            warnings.warn("Consider using IPython.display.IFrame instead", stacklevel=2)
        super().__init__(data, url, filename, metadata)

    def _repr_html_(self):
        return self._data_and_metadata()

    def __html__(self):
        return self._repr_html_()


class Markdown(TextDisplayObject):
    def _repr_markdown_(self):
        return self._data_and_metadata()


class Latex(TextDisplayObject):
    def _repr_latex_(self):
        return self._data_and_metadata()


class Math(TextDisplayObject):
    def _repr_latex_(self):
        text = r"$\displaystyle %s$" % self.data.strip("$")
        return (text, dict(self.metadata)) if self.metadata else text


class SVG(DisplayObject):
    _read_flags = "rb"
    _data = None

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, svg):
        if svg is not None:
            from xml.dom import minidom

            # Only the element is shown: a page must not contain a file's lines before it.
            found = minidom.parseString(svg).getElementsByTagName("svg")
            svg = found[0].toxml() if found else svg
        self._data = svg.decode(errors="replace") if isinstance(svg, bytes) else svg

    def _repr_svg_(self):
        return self._data_and_metadata()


class ProgressBar(DisplayObject):
    """A bar that updates its display when its progress changes. Iterating over it advances it."""

    def __init__(self, total):
        self.total, self._progress = total, 0
        self.html_width, self.text_width = "60ex", 60
        self._display_id = binascii.hexlify(os.urandom(8)).decode()

    def __repr__(self):
        filled = "=" * int(self.progress / self.total * self.text_width if self.total else 0)
        return "[%s] %s/%s" % (filled.ljust(self.text_width), self.progress, self.total)

    def _repr_html_(self):
        return "<progress style='width:%s' max='%s' value='%s'></progress>" % (self.html_width, self.total, self.progress)

    def display(self):
        display(self, display_id=self._display_id)  # noqa: F821

    def update(self):
        display(self, display_id=self._display_id, update=True)  # noqa: F821

    @property
    def progress(self):
        return self._progress

    @progress.setter
    def progress(self, value):
        self._progress = value
        self.update()

    def __iter__(self):
        self.display()
        self._progress = -1
        return self

    def __next__(self):
        self.progress += 1
        if self.progress >= self.total:
            raise StopIteration
        return self.progress


class JSON(DisplayObject):
    """A list or a dict, not JSON text."""

    _data = None

    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **more):
        self.metadata = {"expanded": expanded, "root": root, **(metadata or {}), **more}
        super().__init__(data, url, filename)

    def _check_data(self):
        if self.data is not None and not isinstance(self.data, (dict, list)):
            raise TypeError("%s expects JSONable dict or list, not %r" % (type(self).__name__, self.data))

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, data):
        if isinstance(data, os.PathLike):
            data = str(data)
        if isinstance(data, (str, bytes)):
            import json

            if self.filename is None and self.url is None:
                import warnings

                warnings.warn("JSON expects JSONable dict or list, not JSON strings", stacklevel=3)
            data = json.loads(data)
        self._data = data

    def _data_and_metadata(self):
        return self.data, self.metadata

    def _repr_json_(self):
        return self._data_and_metadata()


class GeoJSON(JSON):
    def _ipython_display_(self):
        display({"application/geo+json": self.data, "text/plain": "<IPython.display.GeoJSON object>"}, raw=True)  # noqa: F821


LOAD = "await new Promise((loaded, failed) => {const e = document.createElement(%s); e.onload = loaded; e.onerror = failed; %s; document.head.append(e);});\n"


class Javascript(TextDisplayObject):
    """A script, which runs after its libraries and style sheets have loaded."""

    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        self.lib, self.css = ([one] if isinstance(one, str) else one or [] for one in (lib, css))
        for several in (self.lib, self.css):
            if not isinstance(several, (list, tuple)):
                raise TypeError("expected sequence, got: %r" % several)
        super().__init__(data, url, filename)

    def _repr_javascript_(self):
        if not self.lib and not self.css:
            return self.data
        loads = [LOAD % ("'link'", "e.rel = 'stylesheet'; e.href = \"%s\"" % one) for one in self.css]
        loads += [LOAD % ("'script'", "e.src = \"%s\"" % one) for one in self.lib]
        return "(async () => {\n%s%s\n})();" % ("".join(loads), self.data)


def of_png(data):
    at = data.index(b"IHDR") + 4
    return struct.unpack(">ii", data[at : at + 8])


def of_jpeg(data):
    at = 2
    while data[at + 1] not in (0xC0, 0xC1, 0xC2, 0xC3):  # markers that begin a frame
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5 : at + 9])
    return width, height


def of_gif(data):
    return struct.unpack("<HH", data[6:10])


def of_webp(data):
    kind = data[12:16]
    if kind == b"VP8 ":
        return tuple(side & 0x3FFF for side in struct.unpack("<HH", data[26:30]))
    if kind == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")


FORMATS = {"png": of_png, "jpeg": of_jpeg, "gif": of_gif, "webp": of_webp}  # functions that find width and height


def format_of(data):
    """The format by a picture's first bytes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8"):
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else None


def sizes(width, height):
    return "".join(' %s="%d"' % pair for pair in (("width", width), ("height", height)) if pair[1])


class Image(DisplayObject):
    """A picture, embedded or as a reference to a URL."""

    _read_flags = "rb"

    def __init__(
        self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, retina=False,
        unconfined=False, metadata=None, alt=None,
    ):  # fmt: skip
        if isinstance(data, os.PathLike):
            data = str(data)
        if data is None and url is None and filename is None:
            raise ValueError("No image data found. Expecting filename, url, or data.")
        path = filename or url or (data if isinstance(data, str) and (data.startswith("http") or there(data)) else None)
        format = (format or self.guessed(data, path)).lower()
        self.format = "jpeg" if format == "jpg" else format
        self.embed = embed if embed is not None else url is None
        if self.embed and self.format not in FORMATS:
            raise ValueError("Cannot embed the '%s' image format" % self.format)
        self._mimetype = "image/" + self.format
        self.retina, self.unconfined = retina, unconfined
        about = metadata or {}
        self.width, self.height, self.alt = (given or about.get(name) for given, name in ((width, "width"), (height, "height"), (alt, "alt")))
        super().__init__(data, url, filename, metadata)
        self._halve()

    @staticmethod
    def guessed(data, path):
        if path is not None:
            base, extension = os.path.splitext(str(path))
            return extension[1:] or base
        return format_of(data) if isinstance(data, bytes) and format_of(data) else "png"

    def _halve(self):
        if self.retina and self.embed:
            self.width, self.height = (side // 2 for side in FORMATS[self.format](self.data))

    def reload(self):
        if self.embed:
            super().reload()
            self._halve()

    def _repr_html_(self):
        if self.embed:
            return None
        url = html.escape((self.url if self.url is not None else self.filename) or "")
        more = ' class="unconfined"' if self.unconfined else ""
        more += ' alt="%s"' % html.escape(self.alt) if self.alt else ""
        return '<img src="%s"%s%s/>' % (url, sizes(self.width, self.height), more)

    def _repr_mimebundle_(self, include=None, exclude=None):
        if not self.embed:
            return {"text/html": self._repr_html_()}
        data, about = self._data_and_metadata(always_both=True)
        return {self._mimetype: data}, {self._mimetype: about} if about else about

    def _data_and_metadata(self, always_both=False):
        try:
            data = binascii.b2a_base64(self.data, newline=False).decode()
        except TypeError:
            raise FileNotFoundError("No such file or directory: '%s'" % self.data) from None
        about = dict(self.metadata)
        for name in ("width", "height", "unconfined", "alt"):
            if getattr(self, name):
                about[name] = getattr(self, name)
        return (data, about) if about or always_both else data

    def _repr_png_(self):
        return self._data_and_metadata() if self.embed and self.format == "png" else None

    def _repr_jpeg_(self):
        return self._data_and_metadata() if self.embed and self.format == "jpeg" else None


class Video(DisplayObject):
    """A film, as a reference or embedded."""

    def __init__(
        self, data=None, url=None, filename=None, embed=False, mimetype=None, width=None, height=None, html_attributes="controls",
    ):  # fmt: skip
        if isinstance(data, os.PathLike):
            data = str(data)
        if url is None and isinstance(data, str) and data.startswith(("http:", "https:")):
            data, url = None, data
        elif data is not None and there(data):
            data, filename = None, data
        if data and not embed:
            raise ValueError(
                "To embed videos, you must pass embed=True (this may make your notebook files huge)\nConsider passing Video(url='...')"
            )
        self.mimetype, self.embed, self.width, self.height = mimetype, embed, width, height
        self.html_attributes = html_attributes
        super().__init__(data, url, filename)

    def reload(self):
        pass

    def _repr_html_(self):
        width, height = sizes(self.width, None), sizes(None, self.height)
        if not self.embed:
            url = html.escape((self.url if self.url is not None else self.filename) or "")
            return """<video src="%s" %s %s %s>
      Your browser does not support the <code>video</code> element.
    </video>""" % (url, self.html_attributes, width, height)
        mimetype, video = self.mimetype, self.data
        if self.filename is not None:
            import mimetypes

            mimetype = mimetype or mimetypes.guess_type(self.filename)[0]
            with open(self.filename, "rb") as file:
                video = file.read()
        if not isinstance(video, str):
            video = binascii.b2a_base64(video, newline=False).decode()
        return """<video %s %s %s>
 <source src="data:%s;base64,%s" type="%s">
 Your browser does not support the video tag.
 </video>""" % (self.html_attributes, width, height, mimetype, video, mimetype)
