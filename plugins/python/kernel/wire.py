"""The messages between the kernel and the host: JSON without the module json."""


class Raw:
    """Text that is JSON already."""

    def __init__(self, data):
        self.data = data


def encode(message):
    """The message as JSON in bytes; only its strings come from user code."""
    if isinstance(message, Raw):
        return message.data
    if isinstance(message, dict):
        return b"{" + b",".join(encode(str(k)) + b":" + encode(v) for k, v in message.items()) + b"}"
    try:
        if type(message) is str:
            return _json.encode_basestring(message).encode()
        return dumps(message, _json.encode_basestring).encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return dumps(message).encode()


def dumps(value, strings=_json.encode_basestring_ascii):
    """json.dumps, but it refuses NaN and infinity."""
    return "".join(_json.make_encoder({}, refuse, strings, None, ":", ",", False, False, False)(value, 0))


def refuse(value):
    raise TypeError("JSON has no %s" % type(value).__name__)


class Scan:
    """The options of decode, those of json."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def decode(data):
    """Reads JSON without white space around it."""
    return _json.make_scanner(Scan)(data.decode(), 0)[0]
