"""The classes of IPython.display that hold something to be shown, for templates that
have no IPython. kernel.py adds the functions."""


class DisplayObject:
    mime = "text/plain"

    def __init__(self, data=None, url=None, filename=None, metadata=None, **options):
        if data is None and filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        if data is None and url is not None:
            raise ValueError("what is at a URL is not fetched; give data or a filename")
        if isinstance(data, bytes) and not self.mime.startswith(("image/png", "image/jpeg")):
            data = data.decode()
        self.data, self.metadata = data, metadata

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self.data, "text/plain": repr(self)}

    def __repr__(self):
        return "<IPython.core.display.%s object>" % type(self).__name__


class HTML(DisplayObject):
    mime = "text/html"


class Markdown(DisplayObject):
    mime = "text/markdown"


class Latex(DisplayObject):
    mime = "text/latex"


class Math(Latex):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: "$\\displaystyle %s$" % self.data.strip("$"), "text/plain": repr(self)}


class SVG(DisplayObject):
    mime = "image/svg+xml"

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        from xml.dom import minidom

        # Only the element is shown: what comes before it in a file has no place in a page.
        found = minidom.parseString(self.data).getElementsByTagName("svg")
        if found:
            self.data = found[0].toxml()


class JSON(DisplayObject):
    mime = "application/json"


class Javascript(DisplayObject):
    mime = "application/javascript"


class Pretty(DisplayObject):
    def __repr__(self):
        return str(self.data)


class Image(DisplayObject):
    def __init__(self, data=None, url=None, filename=None, format=None, **options):
        if isinstance(data, str) and filename is None:
            data, filename = None, data
        super().__init__(data, url, filename)
        self.mime = "image/jpeg" if self.data[:2] == b"\xff\xd8" else "image/png"

    mime = "image/png"


def clear_output(wait=False):
    """Does nothing: what was shown is shown."""


def display_html(*values, **options):
    for value in values:
        globals()["display"](value if hasattr(value, "_repr_html_") else HTML(value))
