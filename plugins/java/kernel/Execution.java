
/** Makes JShell run code in this process, in a thread that can be stopped. */
class Engine implements ExecutionControlProvider {
    private final Execution execution;

    Engine(Execution execution) {
        this.execution = execution;
    }

    @Override
    public String name() {
        return "yurt";
    }

    @Override
    public ExecutionControl generate(ExecutionEnv env, Map<String, String> parameters) {
        return execution;
    }
}

/**
 * Each piece of code has its own thread. Up to Java 19, a thread can be stopped directly; later
 * versions of LocalExecutionControl add checks to the code's loops.
 */
class Execution extends LocalExecutionControl {
    private static final boolean STOPPABLE = Runtime.version().feature() < 20;
    private volatile Thread thread;
    private String last; // the value of the last piece, if it is a string

    @Override
    protected String invoke(Method method) throws Exception {
        if (!STOPPABLE) return super.invoke(method);
        var value = new Object[1];
        var thrown = new Throwable[1];
        var runner = new Thread(() -> {
            try {
                value[0] = method.invoke(null);
            } catch (Throwable error) {
                thrown[0] = error;
            }
        }, "main");
        thread = runner;
        runner.start();
        try {
            runner.join();
        } finally {
            thread = null;
        }
        Throwable cause = thrown[0] instanceof InvocationTargetException wrapped ? wrapped.getCause() : thrown[0];
        if (cause instanceof ThreadDeath) throw new StoppedException();
        if (thrown[0] instanceof Exception exception) throw exception;
        if (thrown[0] != null) throw new InvocationTargetException(thrown[0]);
        last = value[0] instanceof String text ? text : null;
        return valueString(value[0]);
    }

    /** The text of a value, which JShell shows as Java writes it: strings are without quotes. */
    String text(String shown) {
        if (last != null) return last;
        if (STOPPABLE || shown.length() < 2 || !shown.startsWith("\"") || !shown.endsWith("\"")) return shown;
        String inside = shown.substring(1, shown.length() - 1);
        try {
            return inside.translateEscapes();
        } catch (IllegalArgumentException e) {
            return inside;
        }
    }

    @Override
    @SuppressWarnings({"deprecation", "removal"})
    public void stop() {
        if (STOPPABLE) {
            var running = thread;
            if (running != null) running.stop();
            return;
        }
        try {
            super.stop();
        } catch (EngineTerminationException | InternalException e) {
            // no code is running
        }
    }
}

/** The variables of one execution, in the environment and as system properties. */
class Environment implements AutoCloseable {
    private final Map<String, String> before = new HashMap<>(), properties = new HashMap<>();

    Environment(Object given) {
        if (!(given instanceof List<?> list)) return;
        for (Object item : list) {
            var pair = ((String) item).split("=", 2);
            before.put(pair[0], System.getenv(pair[0]));
            properties.put(pair[0], System.getProperty(pair[0]));
            set(variables(), pair[0], pair[1]);
            System.setProperty(pair[0], pair[1]);
        }
    }

    @Override
    public void close() {
        before.forEach((name, value) -> set(variables(), name, value));
        properties.forEach((name, value) -> {
            if (value == null) System.clearProperty(name);
            else System.setProperty(name, value);
        });
    }

    private static void set(Map<String, String> map, String name, String value) {
        if (value == null) map.remove(name);
        else map.put(name, value);
    }

    /** The map below System.getenv(), which cannot be changed. */
    @SuppressWarnings("unchecked")
    private static Map<String, String> variables() {
        try {
            var field = Class.forName("java.util.Collections$UnmodifiableMap").getDeclaredField("m");
            field.setAccessible(true);
            return (Map<String, String>) field.get(System.getenv());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
