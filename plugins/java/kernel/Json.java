
/** Reads JSON in the form that the host writes, and writes texts as JSON. */
class Json {
    private final String source;
    private int at;

    private Json(String source) {
        this.source = source;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String source) {
        return (Map<String, Object>) new Json(source).value();
    }

    private Object value() {
        switch (next()) {
            case '{' -> {
                var map = new HashMap<String, Object>();
                while (more('}')) {
                    String name = string();
                    at++; // the colon
                    map.put(name, value());
                }
                return map;
            }
            case '[' -> {
                var list = new ArrayList<Object>();
                while (more(']')) list.add(value());
                return list;
            }
            case '"' -> {
                return string();
            }
            default -> {
                int from = at;
                while (at < source.length() && ",]}".indexOf(source.charAt(at)) < 0) at++;
                return source.substring(from, at).strip();
            }
        }
    }

    private char next() {
        return source.charAt(at);
    }

    /** Skips the opening bracket or a comma, and reports whether an item follows. */
    private boolean more(char end) {
        if (next() != end) at++;
        if (next() != end) return true;
        at++;
        return false;
    }

    private String string() {
        var text = new StringBuilder();
        for (at++; next() != '"'; at++) {
            char c = next();
            if (c != '\\') {
                text.append(c);
                continue;
            }
            at++;
            switch (next()) {
                case 'n' -> text.append('\n');
                case 't' -> text.append('\t');
                case 'r' -> text.append('\r');
                case 'b' -> text.append('\b');
                case 'f' -> text.append('\f');
                case 'u' -> {
                    text.append((char) Integer.parseInt(source, at + 1, at + 5, 16));
                    at += 4;
                }
                default -> text.append(next());
            }
        }
        at++;
        return text.toString();
    }

    static String text(String value) {
        var json = new StringBuilder("\"");
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '"' -> json.append("\\\"");
                case '\\' -> json.append("\\\\");
                case '\n' -> json.append("\\n");
                default -> {
                    if (c < ' ' || c == 0x7f) json.append(String.format("\\u%04x", (int) c));
                    else json.append(c);
                }
            }
        }
        return json.append('"').toString();
    }
}
