import java.io.*;
import java.lang.reflect.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import jdk.jshell.*;
import jdk.jshell.SourceCodeAnalysis.Completeness;
import jdk.jshell.execution.LocalExecutionControl;
import jdk.jshell.spi.*;

/**
 * Runs executions one after the other in one JShell, which keeps its state:
 *
 *     java Kernel.java DIRECTORY
 *
 * It reads requests from the FIFO "requests" in the directory, a JSON object a line, and writes
 * responses to descriptor 3 in the same format. It writes a mark to descriptors 1 and 2: output
 * before the mark belongs to that execution. SIGINT interrupts the running execution. The user's
 * code is in this virtual machine and can break all of it. Needs JDK 17 or later.
 */
public class Kernel {
    static final int INTERRUPTED = 130;
    static final int MAX_RESULT = 8 << 20; // bytes of JSON
    static final int MAX_TEXT = 1 << 20; // characters of a value's text

    final Path requests;
    final OutputStream out = stream(1), err = stream(2), control = stream(3), ended = stream(4);
    final Cells cells = new Cells();
    volatile String running; // id of the running execution
    String current;
    volatile int count; // of executions
    byte[] answer;

    public static void main(String[] args) throws Exception {
        var kernel = new Kernel(Path.of(args[0], "requests"));
        try {
            kernel.serve();
        } catch (Throwable error) {
            kernel.broken(error);
        }
    }

    Kernel(Path requests) throws Exception {
        this.requests = requests;
        sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> cells.interrupt());
        Runtime.getRuntime().addShutdownHook(new Thread(this::sayEnded));
    }

    static OutputStream stream(int number) throws Exception {
        var descriptor = new FileDescriptor();
        var field = FileDescriptor.class.getDeclaredField("fd");
        field.setAccessible(true);
        field.set(descriptor, number);
        return new FileOutputStream(descriptor);
    }

    /** Tells kernel.sh the execution whose code ends the virtual machine. */
    void sayEnded() {
        String id = running;
        if (id == null) return;
        System.out.flush();
        System.err.flush();
        try {
            ended.write((id + " " + count).getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            // the host reports a kernel that ends without a response
        }
    }

    void broken(Throwable error) {
        System.err.println("yurt: the interpreter of this context cannot go on: " + error);
        if (current != null && answer == null) {
            try {
                reply(done(1, "{\"result\":null}", ",\"exiting\":true,\"broken\":" + Json.text(error.toString())));
            } catch (IOException e) {
                // as above
            }
        }
        Runtime.getRuntime().halt(1);
    }

    void serve() throws Exception {
        while (true) {
            // If the host has gone, opening waits for it.
            try (var reader = new BufferedReader(new InputStreamReader(new FileInputStream(requests.toFile()), StandardCharsets.UTF_8))) {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) answer(line);
            }
        }
    }

    void answer(String line) throws Exception {
        var request = Json.object(line);
        if (request.get("file") instanceof String file) {
            request = Json.object(Files.readString(Path.of(file)));
        }
        String id = (String) request.get("id");
        if (id.equals(current)) {
            if (answer != null) reply(answer); // the host has restarted and lost it
            return;
        }
        current = id;
        count++;
        answer = null;
        running = id;
        var outcome = cells.run(request, this::show);
        System.out.flush();
        System.err.flush();
        running = null;
        reply(done(outcome.exitCode(), outcome.envelope(), ""));
    }

    void show(String text) {
        if (text.length() > MAX_TEXT) text = text.substring(0, MAX_TEXT) + "…";
        say("{\"id\":" + Json.text(current) + ",\"display\":{\"data\":{\"text/plain\":" + Json.text(text) + "},\"main\":true}}\n");
    }

    byte[] done(int code, String envelope, String more) {
        answer = ("{\"id\":" + Json.text(current) + ",\"done\":{\"exit_code\":" + (code & 0xff) + ",\"execution_count\":" + count + ",\"envelope\":" + envelope + more + "}}\n").getBytes(StandardCharsets.UTF_8);
        return answer;
    }

    void reply(byte[] message) throws IOException {
        byte[] mark = ("\u001eyurt:" + current + "\u001e").getBytes(StandardCharsets.UTF_8);
        for (var stream : List.of(out, err)) {
            try {
                stream.write(mark);
            } catch (IOException e) {
                // closed by the user's code
            }
        }
        control.write(message);
    }

    void say(String message) {
        try {
            control.write(message.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
