static class Lib {
    public static string Mark(string text) {
        return "lib: " + text;
    }
}
