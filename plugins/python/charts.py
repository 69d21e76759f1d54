"""Figures of matplotlib as data: the type, the title, the axes and the series of each chart.

The data is read from the artists of the figure, so that it does not matter which library drew it.
The figure is not changed. kernel.py reads this file when the first figure is shown.
"""

import math
import re

VERSION = 1
MAX_CHARTS = 64  # of a figure
MAX_SERIES = 100  # of a chart
MAX_POINTS = 2000  # of a series
MAX_FIGURE_POINTS = 20_000
MAX_TICKS = 200
MAX_LABEL = 1000  # characters
NOTCHED = 11, 12  # corners of a box with a notch
MARK_POINTS = 10  # more than the points of an error bar with caps
CLOSE = 1e-6  # of the width of a box: the tolerance for rounding

LINE, SCATTER, BAR, PIE, BOX, SUPERCHART, UNKNOWN = "line", "scatter", "bar", "pie", "box_and_whisker", "superchart", "unknown"


class Room:
    """The number of points that may still be written."""

    def __init__(self):
        self.left, self.truncated = MAX_FIGURE_POINTS, False

    def places(self, count):
        """The indices of the points to write: all, or some at equal distances with the first and the last."""
        most = max(2, min(MAX_POINTS, self.left))
        if count <= most:
            self.left -= count
            return range(count)
        self.truncated = True
        self.left -= most
        return [place * (count - 1) // (most - 1) for place in range(most)]

    def first(self, things, most):
        things = list(things)
        self.truncated = self.truncated or len(things) > most
        return things[:most]


def figure_data(figure):
    """The charts of a figure, or None if it has no chart."""
    room = Room()
    every = [axes for axes in figure.get_axes() if axes.get_visible() and not colorbar(axes)]
    if not any(axes.has_data() for axes in every):
        return None
    charts = [chart(axes, room) for axes in room.first(every, MAX_CHARTS)]
    title = text(figure.get_suptitle() if hasattr(figure, "get_suptitle") else "")
    if len(charts) == 1:
        data = charts[0]
        data["title"] = data["title"] or title
    else:
        data = {"type": SUPERCHART, "title": title, "charts": charts}
    data["version"], data["truncated"] = VERSION, room.truncated
    return data


def colorbar(axes):
    return axes.get_label() == "<colorbar>" or hasattr(axes, "_colorbar")


def chart(axes, room):
    """The chart in a pair of axes."""
    x, y = Axis(axes, "x"), Axis(axes, "y")
    kind, series, more = UNKNOWN, [], {}
    if axes.name == "rectilinear":
        kind, series, more = content(axes, x, y, room)
    title = text(axes.get_title() or axes.get_title("left") or axes.get_title("right"))
    return {"type": kind, "title": title, **more, "x": x.data(room), "y": y.data(room), "series": room.first(series, MAX_SERIES)}


def content(axes, x, y, room):
    """The type of a chart, its series, and for bars and boxes their orientation."""
    wedges = [artist for artist in axes.patches if type(artist).__name__ == "Wedge"]
    if wedges:
        return PIE, [pie(wedges, room)], {}
    found, orientation = boxes(axes)
    if found:
        label = (x if orientation == "vertical" else y).label_at
        return BOX, [{"type": BOX, "label": None, "boxes": [box.data(label) for box in room.first(found, MAX_POINTS)]}], {"orientation": orientation}
    bars, orientation = [], None
    for container in axes.containers:
        if type(container).__name__ == "BarContainer" and len(container):
            orientation = orientation or direction(container)
            bars.append(bar(container, x, y, room))
    shown = [artist for artist in data_lines(axes) if not (bars and marks_bar(artist, axes, orientation))]
    lines = [line(artist, x, y, room) for artist in room.first(shown, MAX_SERIES)]
    points = [scatter(artist, x, y, room) for artist in axes.collections if type(artist).__name__ == "PathCollection"]
    marks = SCATTER if lines and all(one["type"] == SCATTER for one in lines) else LINE
    kinds = [kind for kind, series in ((BAR, bars), (marks, lines), (SCATTER, points)) if series]
    kinds = kinds[:1] if len(set(kinds)) == 1 else kinds
    loose = any(not decoration(patch, axes) for patch in axes.patches) or len(axes.images) > 0
    one = kinds[0] if len(kinds) == 1 and not (loose and kinds[0] != BAR) else UNKNOWN
    return one, bars + lines + points, {"orientation": orientation} if bars else {}


def decoration(patch, axes):
    """Whether a patch belongs to bars, or marks a region across the axes."""
    return patch.get_transform() != patch.get_patch_transform() + axes.transData or any(patch in container for container in axes.containers)


class Axis:
    """One of the two axes."""

    def __init__(self, axes, name):
        self.name, self.axes, self.axis = name, axes, getattr(axes, name + "axis")
        get = getattr(self.axis, "get_converter", None)
        self.converter = type(get() if get is not None else getattr(self.axis, "converter", None)).__name__
        self.formatter = self.axis.get_major_formatter()
        self.named = type(self.formatter).__name__ in ("FixedFormatter", "StrCategoryFormatter", "FuncFormatter")
        self.places = self.names = self.known = None

    def scale(self):
        if self.known is None:
            self.known = self.found_scale()
        return self.known

    def found_scale(self):
        formatter = type(self.formatter).__name__
        if "Date" in formatter or "Date" in self.converter or "Time" in self.converter or "Period" in self.converter:
            return "datetime"
        if self.converter == "StrCategoryConverter":
            return "categorical"
        scale = self.axis.get_scale()
        if scale == "linear" and self.named and self.ticks() and all(float(place).is_integer() for place in self.places):
            if any(name != number_text(place) for place, name in zip(self.places, self.names)):
                return "categorical"
        return scale

    def ticks(self):
        """The places of the visible ticks, and the text at each."""
        if self.places is None:
            places = [float(place) for place in self.axis.get_majorticklocs()]
            names = self.formatter.format_ticks(places) if places else []
            low, high = sorted(self.axis.get_view_interval())
            slack = (high - low) * CLOSE
            shown = [(place, name) for place, name in zip(places, names) if low - slack <= place <= high + slack]
            self.places, self.names = [place for place, _ in shown], [str(name) for _, name in shown]
        return self.places

    def label_at(self, place):
        """The text of the axis at a place: the nearest tick's label, or the number itself."""
        self.ticks()
        if self.named and self.places:
            near = min(range(len(self.places)), key=lambda at: abs(self.places[at] - place))
            if abs(self.places[near] - place) <= 0.5 and self.names[near]:
                return self.names[near][:MAX_LABEL]
        value = self.value(place)
        return value if isinstance(value, str) else number_text(place)

    def value(self, place):
        """The value at a place on the axis: a moment on a date axis, else the number."""
        if self.scale() != "datetime":
            return number(place)
        frequency = getattr(self.axes, "freq", None)  # with it pandas counts periods
        if frequency is not None and "Period" in self.converter or "TimeSeries" in type(self.formatter).__name__:
            import pandas

            return pandas.Period(ordinal=int(place), freq=frequency).to_timestamp().isoformat()
        from matplotlib.dates import num2date

        return num2date(place).replace(tzinfo=None).isoformat()

    def data(self, room):
        label = text(getattr(self.axes, "get_%slabel" % self.name)())
        ticks = room.first(self.ticks(), MAX_TICKS)
        low, high = self.axis.get_view_interval()
        return {
            "label": label,
            "unit": unit(label),
            "scale": self.scale(),
            "range": [self.value(low), self.value(high)],
            "ticks": [self.value(place) for place in ticks],
            "tick_labels": [name[:MAX_LABEL] for name in self.names[: len(ticks)]],
        }


def unit(label):
    """The unit in an axis's label, in brackets as in "Time (s)"."""
    found = re.search(r"(?:^|\s)(?:\(([^()]+)\)|\[([^\[\]]+)\])", label or "")
    return (found.group(1) or found.group(2)).strip() if found else None


def text(value):
    return str(value)[:MAX_LABEL] or None


def given(artist):
    """The label of an artist, unless it is one of matplotlib's, which begin with an underscore."""
    label = str(artist.get_label())
    return None if label.startswith("_") else text(label)


def number(value):
    try:
        value = float(value)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def number_text(value):
    return "%.10g" % value


def simple(value, axis):
    """The user's value for JSON: a number, a text, or a moment in ISO 8601."""
    if isinstance(value, str):
        return value[:MAX_LABEL]
    if hasattr(value, "to_timestamp"):  # a period of pandas
        value = value.to_timestamp()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ == "datetime64":
        return str(value.astype("datetime64[us]").item().isoformat())
    if axis.scale() == "datetime" and number(value) is not None:
        return axis.value(value)
    return number(value)


def pairs(xs, ys, x, y, room):
    """The points of a series."""
    count = min(len(xs), len(ys))
    at = list(room.places(count))
    return count, [list(pair) for pair in zip(picked(xs, at, x), picked(ys, at, y))]


def picked(values, at, axis):
    """The values at these indices, in one step for an array of numbers."""
    if getattr(getattr(values, "dtype", None), "kind", "") in "fiu" and hasattr(values, "tolist") and axis.scale() != "datetime":
        values = values.filled(math.nan) if hasattr(values, "filled") else values
        return [number(value) for value in values[at].tolist()]
    values = values.iloc if hasattr(values, "iloc") else values
    return [simple(values[one], axis) for one in at]


def data_lines(axes):
    """The lines that show data: not lines across the axes, nor parts of error bars."""
    parts = []
    for container in axes.containers:
        if type(container).__name__ == "ErrorbarContainer":
            parts += container.lines[1]
        bars = getattr(container, "errorbar", None)
        if bars is not None:
            parts += [bars.lines[0], *bars.lines[1]]
    return [one for one in axes.lines if one.get_transform() == axes.transData and not any(one is part for part in parts)]


def marks_bar(artist, axes, orientation):
    """Whether a line is the error bar of one bar, as seaborn draws them: it stays within the bar's width, and has no
    point if the error is unknown."""
    if artist.get_linestyle() in ("None", "", " "):
        return False
    upright = orientation == "vertical"
    places = [float(point) for point in artist.get_xydata()[:MARK_POINTS, 0 if upright else 1] if number(point) is not None]
    if len(artist.get_xydata()) >= MARK_POINTS or len(places) == 1:
        return False
    for bar in (bar for container in axes.containers if type(container).__name__ == "BarContainer" for bar in container):
        begin, width = (bar.get_x(), bar.get_width()) if upright else (bar.get_y(), bar.get_height())
        if all(begin <= place <= begin + width for place in places):
            return True
    return False


def line(artist, x, y, room):
    count, points = pairs(artist.get_xdata(orig=True), artist.get_ydata(orig=True), x, y, room)
    kind = SCATTER if artist.get_linestyle() in ("None", "", " ") else LINE
    return {"type": kind, "label": given(artist), "count": count, "points": points}


def scatter(artist, x, y, room):
    """The points of a scatter plot, which matplotlib keeps as places on the axes."""
    places = artist.get_offsets()
    places = places.filled(math.nan) if hasattr(places, "filled") else places  # a masked value is missing
    at = room.places(len(places))
    points = [[named(across, x), named(along, y)] for across, along in places[list(at)].tolist()]
    return {"type": SCATTER, "label": given(artist), "count": len(places), "points": points}


def named(place, axis):
    return axis.label_at(place) if axis.scale() == "categorical" else axis.value(place) if number(place) is not None else None


def direction(container):
    return getattr(container, "orientation", None) or "vertical"


def bar(container, x, y, room):
    """The bars of a group, each with its value, its start, and its label on the other axis."""
    upright = direction(container) == "vertical"
    across, along = (x, y) if upright else (y, x)
    bars = []
    for at in room.places(len(container)):
        one = container[at]
        left, width = (one.get_x(), one.get_width()) if upright else (one.get_y(), one.get_height())
        base, value = (one.get_y(), one.get_height()) if upright else (one.get_x(), one.get_width())
        bars.append({
            "label": across.label_at(left + width / 2), "value": number(value), "base": number(base),
            "position": number(left + width / 2), "width": number(width),
        })  # fmt: skip
    return {"type": BAR, "label": given(container), "count": len(container), "bars": bars}


def pie(wedges, room):
    whole = 360.0
    slices = []
    for at in room.places(len(wedges)):
        wedge = wedges[at]
        angle = round(abs(float(wedge.theta2) - float(wedge.theta1)), 4)
        slices.append({"label": given(wedge), "angle": angle, "share": round(angle / whole, 6), "radius": number(wedge.r)})
    return {"type": PIE, "label": None, "count": len(wedges), "slices": slices}


class Box:
    """A box of a box plot, which spans the quartiles along the axis of values."""

    def __init__(self, across, along):
        self.left, self.right = across
        self.low, self.high = along
        self.centre = (self.left + self.right) / 2
        self.width = self.right - self.left
        self.median, self.whiskers, self.points = None, [], []
        self.widest = 0.0  # line across the box: caps are shorter, the line of the mean comes later

    def take(self, across, along, joined):
        """Adds a line of the box: its median, a whisker, or the outliers."""
        near = lambda a, b: abs(a - b) <= CLOSE * max(self.width, abs(a), CLOSE)  # noqa: E731
        if not all(self.left - self.width <= place <= self.right + self.width for place in across):
            return
        if not joined:
            if all(near(place, self.centre) for place in across):
                self.points += along
        elif len(along) == 2 and near(along[0], along[1]) and not near(across[0], across[1]):
            inside = self.low <= along[0] <= self.high or near(along[0], self.low) or near(along[0], self.high)
            width = abs(across[1] - across[0])
            if inside and width > self.widest * (1 + CLOSE) and near(sum(across) / 2, self.centre):
                self.median, self.widest = along[0], width
        elif len(along) == 2 and near(across[0], self.centre) and near(across[1], self.centre):
            self.whiskers += [end for start, end in (along, along[::-1]) if near(start, self.low) or near(start, self.high)][:1]

    def data(self, label):
        low, high = min([self.low, *self.whiskers]), max([self.high, *self.whiskers])
        outliers = [number(point) for point in self.points if not low <= point <= high]
        return {
            "label": label(self.centre), "min": number(low), "first_quartile": number(self.low), "median": number(self.median),
            "third_quartile": number(self.high), "max": number(high), "outliers": outliers[:MAX_POINTS], "position": number(self.centre),
        }  # fmt: skip


def boxes(axes):
    """The boxes of a box plot, each once, and their orientation; no boxes if the axes have no box plot."""
    outlines = [patch.get_path().vertices for patch in axes.patches if type(patch).__name__ == "PathPatch"]
    others = []
    for one in axes.lines:
        points = one.get_xydata()
        if len(points) >= 5 and (points[0] == points[-1]).all() and one.get_linestyle() not in ("None", "", " "):
            outlines.append(points)
        else:
            others.append(one)
    if not outlines or not others:
        return [], None
    for orientation, across, along in (("vertical", 0, 1), ("horizontal", 1, 0)):
        found = {}
        for points in outlines:
            sides = [(float(points[:, way].min()), float(points[:, way].max())) for way in (across, along)]
            if len(points) in NOTCHED:  # a notch may reach beyond the quartiles, which are at its ends and its turn
                sides[1] = tuple(sorted((float(points[0, along]), float(points[5, along]))))
            box = Box(*sides)
            if len(points) in NOTCHED:
                box.median, box.widest = float(points[3, along]), math.inf
            found.setdefault(tuple(round(side, 9) for pair in sides for side in pair), box)
        at = {round(box.centre, 6): box for box in found.values()}
        for one in others:
            points = one.get_xydata()
            places = [float(point) for point in points[:, across]]
            box = at.get(round((min(places) + max(places)) / 2, 6)) if places else None
            if box is not None:
                joined = one.get_linestyle() not in ("None", "", " ")
                box.take(places, [float(point) for point in points[:, along]], joined)
        made = [box for box in found.values() if box.median is not None and box.whiskers]
        if made and len(made) == len(found):
            return sorted(made, key=lambda box: box.centre), orientation
    return [], None
