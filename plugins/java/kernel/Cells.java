
/** The executions of a context: each is a cell, which JShell evaluates piece by piece. */
class Cells {
    record Outcome(int exitCode, String envelope) {}

    /** A piece is a declaration, a statement or an expression, with its start in the cell. */
    record Piece(String source, int start, boolean broken) {}

    /** Place is the origin of a JShell snippet in the user's code. */
    record Place(int cell, int line) {}

    private static final String NOTHING = "{\"result\":null}";
    private static final Pattern WRAPPER = Pattern.compile("REPL\\.\\$JShell\\$\\d+[A-Z]*\\$?");

    private final Execution execution = new Execution();
    private final JShell shell;
    private final SourceCodeAnalysis analysis;
    private final Map<String, Place> places = new HashMap<>(); // by the ids of snippets
    private final Set<String> libraries = new HashSet<>();
    private volatile boolean busy, interrupted;
    private int count;
    private String code; // of the cell

    Cells() {
        shell = JShell.builder().executionEngine(new Engine(execution), Map.of()).compilerOptions("-proc:none", "-Xlint:-options").build();
        analysis = shell.sourceCodeAnalysis();
        for (String name : List.of("java.io", "java.math", "java.net", "java.nio.file", "java.time", "java.util", "java.util.concurrent", "java.util.function", "java.util.regex", "java.util.stream")) {
            shell.eval("import " + name + ".*;");
        }
        System.getenv().forEach(System.getProperties()::putIfAbsent);
    }

    /** Interrupts the running cell, repeatedly, as its next piece may have begun. */
    void interrupt() {
        if (!busy) return;
        interrupted = true;
        while (busy && interrupted) {
            execution.stop();
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    Outcome run(Map<String, Object> request, Consumer<String> show) {
        count++;
        code = withoutPackage((String) request.getOrDefault("code", ""));
        var stdin = (String) request.getOrDefault("stdin", "");
        System.setIn(new ByteArrayInputStream(Base64.getDecoder().decode(stdin)));
        if (request.get("cwd") instanceof String cwd && !Path.of(cwd).equals(Path.of("").toAbsolutePath())) {
            System.err.println("yurt: the working directory stays " + Path.of("").toAbsolutePath() + ", which a virtual machine cannot change");
        }
        try (var given = new Environment(request.get("env"))) {
            addLibraries();
            busy = true;
            return runPieces(show);
        } finally {
            busy = interrupted = false;
        }
    }

    private Outcome runPieces(Consumer<String> show) {
        if (code.stripLeading().matches("(?s)/[a-z!?-].*")) {
            return failed(1, "CompileError", "commands of jshell, such as " + code.strip().split("\\s")[0] + ", are not supported in a context", List.of());
        }
        var pieces = pieces();
        if (Pattern.compile("\\bargs\\b").matcher(code).find() && shell.variables().noneMatch(v -> v.name().equals("args"))) {
            shell.eval("String[] args = {};");
        }
        // A cell with a syntax error must not run in part: the wrong piece is evaluated first and refused.
        var wrong = pieces.stream().filter(Piece::broken).findFirst();
        if (wrong.isPresent()) pieces = List.of(wrong.get());
        SnippetEvent last = null;
        Piece lastPiece = null;
        var declared = new ArrayList<Snippet>();
        for (var piece : pieces) {
            if (interrupted) return interrupted();
            last = null;
            for (var event : eval(piece)) {
                var bad = outcomeOf(event, piece);
                if (bad != null) return bad;
                if (event.causeSnippet() == null) {
                    last = event;
                    declared.add(event.snippet());
                }
            }
            lastPiece = piece;
        }
        if (interrupted) return interrupted();
        warn(declared);
        String call = mainOf(declared);
        if (call != null) {
            for (var event : eval(new Piece(call, 0, false))) {
                var bad = outcomeOf(event, new Piece(call, 0, false));
                if (bad != null) return bad;
            }
            return interrupted ? interrupted() : new Outcome(0, NOTHING);
        }
        return last == null ? new Outcome(0, NOTHING) : valueOf(last, lastPiece, show);
    }

    private List<SnippetEvent> eval(Piece piece) {
        int line = lineAt(piece.start());
        // The ids of snippets count up; the stack trace of running code needs the place.
        var events = shell.eval(piece.source());
        for (var event : events) {
            if (event.causeSnippet() == null) places.put(event.snippet().id(), new Place(count, line));
        }
        return events;
    }

    private List<Piece> pieces() {
        var list = new ArrayList<Piece>();
        for (String rest = code.stripLeading(); !rest.isEmpty();) { // JShell counts lines from the text
            var info = analysis.analyzeCompletion(rest);
            if (info.completeness() == Completeness.EMPTY) break;
            var state = info.completeness();
            boolean complete = state.isComplete() && state != Completeness.UNKNOWN || state == Completeness.COMPLETE_WITH_SEMI;
            list.add(new Piece(complete && info.source() != null ? info.source() : rest, code.length() - rest.length(), !complete));
            if (!complete || info.remaining().length() >= rest.length()) break;
            rest = info.remaining().stripLeading();
        }
        return list;
    }

    /** The call of the main method, for a cell that only declares a program. */
    private static String mainOf(List<Snippet> declared) {
        String call = null;
        for (var snippet : declared) {
            switch (snippet.kind()) {
                case IMPORT -> {}
                case TYPE_DECL -> {
                    if (snippet.source().matches("(?s).*\\bstatic\\s+(final\\s+)?void\\s+main\\s*\\(.*")) {
                        call = ((TypeDeclSnippet) snippet).name() + ".main(" + (snippet.source().matches("(?s).*\\bvoid\\s+main\\s*\\(\\s*\\).*") ? "" : "new String[0]") + ");";
                    }
                }
                case METHOD -> {
                    var method = (MethodSnippet) snippet;
                    if (method.name().equals("main")) call = "main(" + (method.parameterTypes().isEmpty() ? "" : "new String[0]") + ");";
                }
                default -> {
                    return null;
                }
            }
        }
        return call;
    }

    /** Warns of declarations in the cell that refer to missing names. */
    private void warn(List<Snippet> declared) {
        for (var snippet : declared) {
            if (!(snippet instanceof DeclarationSnippet declaration)) continue;
            var missing = shell.unresolvedDependencies(declaration).collect(Collectors.joining(", "));
            if (!missing.isEmpty()) System.err.println("yurt: " + declaration.name() + " cannot be used until this is declared: " + missing);
        }
    }

    /** The failure of a piece; null if it succeeded. */
    private Outcome outcomeOf(SnippetEvent event, Piece piece) {
        if (event.causeSnippet() != null) return null;
        if (event.status() == Snippet.Status.REJECTED) return compileError(event.snippet(), piece);
        if (interrupted) return interrupted();
        if (event.exception() == null) return null;
        var lines = new ArrayList<String>();
        frames(event.exception(), lines);
        var error = event.exception();
        String type, message = error.getMessage() == null ? "" : error.getMessage();
        if (error instanceof EvalException thrown) {
            type = WRAPPER.matcher(thrown.getExceptionClassName()).replaceAll("").replace('$', '.');
        } else {
            var unresolved = (UnresolvedReferenceException) error;
            type = "UnresolvedReferenceException";
            message = unresolved.getSnippet().name() + " cannot be used until this is declared: " + shell.unresolvedDependencies(unresolved.getSnippet()).collect(Collectors.joining(", "));
        }
        var outermost = new ArrayList<>(lines);
        Collections.reverse(outermost);
        System.err.println("Exception in thread \"main\" " + type + (message.isEmpty() ? "" : ": " + message));
        for (String line : lines) System.err.println(line.startsWith("Caused by: ") ? line : "\tat " + line);
        return failed(1, type, message, outermost);
    }

    /** Collects the user's frames, the innermost first, and the causes with theirs. */
    private void frames(Throwable error, List<String> lines) {
        for (var frame : error.getStackTrace()) {
            if (frame.getFileName() == null || !frame.getFileName().startsWith("#") || lines.size() >= 200) continue;
            var place = places.getOrDefault(frame.getFileName().substring(1), new Place(count, 1));
            String where = WRAPPER.matcher(frame.getClassName()).replaceAll("");
            String name = (where.isEmpty() ? "" : where.replace('$', '.') + ".") + frame.getMethodName();
            lines.add((frame.getMethodName().isEmpty() || name.contains("do_it$") ? "" : name) + "(<cell " + place.cell() + ">:" + (place.line() + frame.getLineNumber() - 1) + ")");
        }
        if (error.getCause() != null && error.getCause() != error && lines.size() < 200) {
            var cause = error.getCause();
            String type = cause instanceof EvalException thrown ? WRAPPER.matcher(thrown.getExceptionClassName()).replaceAll("") : cause.getClass().getName();
            lines.add("Caused by: " + type + (cause.getMessage() == null ? "" : ": " + cause.getMessage()));
            frames(cause, lines);
        }
    }

    private Outcome compileError(Snippet snippet, Piece piece) {
        var found = new ArrayList<String>();
        for (var diagnostic : shell.diagnostics(snippet).filter(Diag::isError).toList()) {
            int at = Math.max(0, Math.min(piece.start() + (int) diagnostic.getPosition(), code.length()));
            int line = lineAt(at), from = code.lastIndexOf('\n', at - 1) + 1, to = code.indexOf('\n', at);
            String message = diagnostic.getMessage(Locale.ROOT).strip();
            String first = message.lines().findFirst().orElse("");
            var symbol = Pattern.compile("\\n\\s*symbol:\\s*(.*)").matcher(message);
            if (symbol.find()) first += ": " + symbol.group(1).strip();
            found.add("<cell " + count + ">:" + line + ":" + (at - from + 1) + ": " + first);
            System.err.println("<cell " + count + ">:" + line + ": error: " + first + "\n" + code.substring(from, to < 0 ? code.length() : to) + "\n" + " ".repeat(at - from) + "^");
        }
        String message = found.isEmpty() ? "the code cannot be compiled" : found.get(0) + (found.size() > 1 ? " (and " + (found.size() - 1) + " more)" : "");
        return failed(1, "CompileError", message, found);
    }

    /** The value of the last expression, unless a semicolon makes it a statement. */
    private Outcome valueOf(SnippetEvent event, Piece piece, Consumer<String> show) {
        var snippet = event.snippet();
        boolean expression = snippet.subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND || snippet.kind() == Snippet.Kind.EXPRESSION;
        String end = code.stripTrailing();
        boolean statement = end.endsWith(";") && (snippet.subKind() == Snippet.SubKind.ASSIGNMENT_SUBKIND || end.matches("(?s).*(\\)|\\+\\+|--)\\s*;"));
        if (!expression || statement || event.value() == null) return new Outcome(0, NOTHING);
        String type = snippet instanceof VarSnippet v ? v.typeName() : ((ExpressionSnippet) snippet).typeName();
        String text = event.value();
        if (text.equals("null") && !type.equals("String")) return new Outcome(0, NOTHING);
        String plain = execution.text(text);
        show.accept(plain);
        String json = json(type, text, plain);
        if (json.getBytes(StandardCharsets.UTF_8).length > Kernel.MAX_RESULT) return new Outcome(0, "{\"result\":null,\"cut\":true}");
        return new Outcome(0, "{\"result\":" + json + "}");
    }

    private static String json(String type, String text, String plain) {
        switch (type) {
            case "String", "java.lang.String", "CharSequence" -> {
                return text.equals("null") ? "null" : Json.text(plain);
            }
            case "char", "Character" -> {
                return text.length() >= 3 ? Json.text(text.substring(1, text.length() - 1)) : "null";
            }
            case "boolean", "Boolean", "int", "Integer", "long", "Long", "short", "Short", "byte", "Byte", "BigInteger", "java.math.BigInteger" -> {
                return text;
            }
            case "double", "Double", "float", "Float" -> {
                return text.matches("-?[0-9.]+(E-?[0-9]+)?") ? text : "null";
            }
            default -> {
                return "null";
            }
        }
    }

    private Outcome interrupted() {
        return failed(Kernel.INTERRUPTED, "KeyboardInterrupt", "", List.of());
    }

    private static Outcome failed(int code, String type, String message, List<String> stack) {
        var lines = stack.stream().map(Json::text).collect(Collectors.joining(","));
        if (message.length() > 16000) message = message.substring(0, 16000) + "…";
        return new Outcome(code, "{\"error\":{\"type\":" + Json.text(type) + ",\"message\":" + Json.text(message) + ",\"stacktrace\":[" + lines + "]}}");
    }

    private int lineAt(int offset) {
        return 1 + (int) code.substring(0, Math.min(offset, code.length())).chars().filter(c -> c == '\n').count();
    }

    /** JShell has no packages: the clause becomes spaces, so that columns do not change. */
    private static String withoutPackage(String code) {
        var clause = Pattern.compile("\\A(?:\\s|//[^\\n]*\\n|/\\*.*?\\*/)*+package\\s+[\\w.]+\\s*;", Pattern.DOTALL).matcher(code);
        if (!clause.find()) return code;
        int from = code.indexOf("package", 0);
        return code.substring(0, from) + code.substring(from, clause.end()).replaceAll("[^\\n]", " ") + code.substring(clause.end());
    }

    /** Adds the jars in lib and those of the execution's CLASSPATH to the class path for good. */
    private void addLibraries() {
        var dirs = new ArrayList<String>(List.of("lib/*"));
        String given = System.getenv("CLASSPATH");
        if (given != null) dirs.addAll(List.of(given.split(":")));
        for (String entry : dirs) {
            if (!entry.endsWith("/*")) {
                if (!entry.isEmpty() && libraries.add(entry)) shell.addToClasspath(entry);
                continue;
            }
            var jars = new File(entry.substring(0, entry.length() - 2)).listFiles((dir, name) -> name.endsWith(".jar"));
            for (var jar : jars == null ? new File[0] : jars) {
                if (libraries.add(jar.getPath())) shell.addToClasspath(jar.getPath());
            }
        }
    }
}
