package lib;

public class Lib {
    public static String mark(String text) {
        return "lib: " + text;
    }
}
