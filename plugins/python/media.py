"""The classes of IPython.lib.display, for templates without IPython: sounds, frames with other
pages, links to files, and source code."""

import base64
import os
from html import escape

from IPython.core.display import DisplayObject, TextDisplayObject


class Audio(DisplayObject):
    """A sound: a file, a URL, bytes of a file, or samples with their rate."""

    _read_flags = "rb"

    def __init__(self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False, normalize=True, *, element_id=None):
        if filename is None and url is None and data is None:
            raise ValueError("No audio data found. Expecting filename, url, or data.")
        if embed is False and url is None:
            raise ValueError("No url found. Expecting url when embed=False")
        self.embed = url is None or embed is True
        self.autoplay, self.element_id = autoplay, element_id
        super().__init__(data, url, filename)
        if self.data is not None and not isinstance(self.data, bytes):
            if rate is None:
                raise ValueError("rate must be specified when data is a numpy array or list of audio samples.")
            self.data = wav(self.data, rate, normalize)

    def reload(self):
        import mimetypes

        if self.embed:
            super().reload()
        path = self.filename if self.filename is not None else self.url
        self.mimetype = mimetypes.guess_type(path)[0] if path is not None else "audio/wav"

    def _data_and_metadata(self):
        return (self.data, {"url": self.url}) if self.url else self.data

    def _repr_html_(self):
        return """
                <audio %s controls="controls" %s>
                    <source src="%s" type="%s" />
                    Your browser does not support the audio element.
                </audio>
              """ % (self.element_id_attr(), self.autoplay_attr(), self.src_attr(), self.mimetype)

    def src_attr(self):
        if self.embed and self.data is not None:
            return "data:%s;base64,%s" % (self.mimetype, base64.b64encode(self.data).decode())
        return escape(self.url) if self.url is not None else ""

    def autoplay_attr(self):
        return 'autoplay="autoplay"' if self.autoplay else ""

    def element_id_attr(self):
        return 'id="%s"' % escape(self.element_id) if self.element_id else ""


def wav(samples, rate, normalize):
    """A WAV file with these samples, or with a list of samples for each channel."""
    import array
    import io
    import wave

    channels = [list(map(float, one)) for one in samples] if hasattr(samples[0], "__len__") else [list(map(float, samples))]
    if len({len(one) for one in channels}) != 1 or not channels[0]:
        raise ValueError("Array audio input must be a 1D or 2D array")
    loudest = max(max(map(abs, one)) for one in channels)
    if not normalize and loudest > 1:
        raise ValueError("Audio data must be between -1 and 1 when normalize=False.")
    by = (loudest or 1) if normalize else 1
    data = array.array("h", [int(value / by * 32767) for at in zip(*channels) for value in at])
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(len(channels))
        file.setframerate(rate)
        file.setsampwidth(2)
        file.setcomptype("NONE", "NONE")
        file.writeframes(data.tobytes())
    return made.getvalue()


class IFrame:
    """Another page, in a frame."""

    iframe = """
        <iframe
            width="{width}"
            height="{height}"
            src="{src}{params}"
            frameborder="0"
            allowfullscreen
            referrerpolicy="strict-origin-when-cross-origin"
            {extras}
        ></iframe>
        """

    def __init__(self, src, width, height, extras=None, **kwargs):
        self.src, self.width, self.height, self.extras, self.params = src, width, height, extras or [], kwargs

    def _repr_html_(self):
        from urllib.parse import urlencode

        return self.iframe.format(
            src=escape(str(self.src)), width=escape(str(self.width)), height=escape(str(self.height)),
            params="?" + urlencode(self.params) if self.params else "", extras=" ".join(self.extras),
        )  # fmt: skip


class YouTubeVideo(IFrame):
    def __init__(self, id, width=400, height=300, allow_autoplay=False, **kwargs):
        self.id = id
        if allow_autoplay:
            kwargs.update(autoplay=1, extras=[*kwargs.get("extras", []), 'allow="autoplay"'])
        super().__init__("https://www.youtube.com/embed/%s" % id, width, height, **kwargs)


class VimeoVideo(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        super().__init__("https://player.vimeo.com/video/%s" % id, width, height, **kwargs)


class ScribdDocument(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        super().__init__("https://www.scribd.com/embeds/%s/content" % id, width, height, **kwargs)


class FileLink:
    """A link to a file."""

    html_link_str = "<a href='%s' target='_blank'>%s</a>"

    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        if os.path.isdir(path):
            raise ValueError("Cannot display a directory using FileLink. Use FileLinks to display '%s'." % path)
        self.path = os.fsdecode(path)
        self.url_prefix, self.result_html_prefix, self.result_html_suffix = url_prefix, result_html_prefix, result_html_suffix

    def _format_path(self):
        link = self.html_link_str % (self.url_prefix + escape(self.path), escape(self.path, quote=False))
        return self.result_html_prefix + link + self.result_html_suffix

    def _repr_html_(self):
        if os.path.exists(self.path):
            return self._format_path()
        return (
            "Path (<tt>%s</tt>) doesn't exist. It may still be in the process of being generated, "
            "or you may have the incorrect path." % self.path
        )

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    """Links to the files below a directory."""

    def __init__(
        self, path, url_prefix="", included_suffixes=None, result_html_prefix="", result_html_suffix="<br>",
        notebook_display_formatter=None, terminal_display_formatter=None, recursive=True,
    ):  # fmt: skip
        if os.path.isfile(path):
            raise ValueError("Cannot display a file using FileLinks. Use FileLink to display '%s'." % path)
        self.path, self.included_suffixes, self.recursive = os.fsdecode(path).rstrip("/"), included_suffixes, recursive
        self.url_prefix, self.result_html_prefix, self.result_html_suffix = url_prefix, result_html_prefix, result_html_suffix
        self.notebook_display_formatter = notebook_display_formatter or self.as_html
        self.terminal_display_formatter = terminal_display_formatter or self.as_text

    def files(self, directory, names):
        """The names that are shown."""
        suffixes = self.included_suffixes
        shown = [name for name in names if os.path.isfile(os.path.join(directory, name))]
        return [name for name in shown if suffixes is None or os.path.splitext(name)[1] in suffixes]

    def as_html(self, directory, names, suffixes=None):
        shown = self.files(directory, names)
        before, after = self.result_html_prefix, self.result_html_suffix
        lines = ["%s%s/%s" % (before, escape(directory), after)] if shown else []
        for name in shown:
            path = "%s%s/%s" % (self.url_prefix, escape(directory), escape(name))
            lines.append(before + "&nbsp;&nbsp;" + self.html_link_str % (path, escape(name)) + after)
        return lines

    def as_text(self, directory, names, suffixes=None):
        shown = self.files(directory, names)
        return (["%s/" % directory] if shown else []) + ["  %s" % name for name in shown]

    def lines(self, layout):
        walked = list(os.walk(self.path)) if self.recursive else [next(os.walk(self.path))]
        return "\n".join(line for directory, _, names in sorted(walked) for line in layout(directory, names, self.included_suffixes))

    def _format_path(self):
        return self.lines(self.notebook_display_formatter)

    def __repr__(self):
        return self.lines(self.terminal_display_formatter)


class Code(TextDisplayObject):
    """Source code, with colours where the template has Pygments."""

    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        super().__init__(data, url, filename)

    def __repr__(self):
        return self.data

    def _lexer(self):
        from pygments import lexers

        if self.language:
            return lexers.get_lexer_by_name(self.language)
        return lexers.get_lexer_for_filename(self.filename) if self.filename else lexers.guess_lexer(self.data)

    def _repr_html_(self):
        try:
            from pygments import formatters, highlight
        except ImportError:
            return "<pre><code>%s</code></pre>" % escape(self.data)
        made = formatters.HtmlFormatter()
        return "<style>%s</style>%s" % (made.get_style_defs(".output_html"), highlight(self.data, self._lexer(), made))

    def _repr_latex_(self):
        try:
            from pygments import formatters, highlight
        except ImportError:
            return None
        return highlight(self.data, self._lexer(), formatters.LatexFormatter())
