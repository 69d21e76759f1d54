"""The messages between the kernel and the host: JSON without the module json."""


class Raw:
    """JSON that is written already."""

    def __init__(self, data):
        self.data = data


def encode(message):
    """The message as JSON in bytes; what it holds is ours but for strings."""
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
    """json.dumps, without numbers that JSON does not have."""
    return "".join(_json.make_encoder({}, refuse, strings, None, ":", ",", False, False, False)(value, 0))


def refuse(value):
    raise TypeError("JSON has no %s" % type(value).__name__)


class Scan:
    """How decode reads JSON: as json does."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def decode(data):
    """What JSON without white space around it says."""
    return _json.make_scanner(Scan)(data.decode(), 0)[0]
