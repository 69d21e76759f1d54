package app;

import lib.Lib;

public class Main {
    public static void main(String[] args) {
        for (String arg : args) {
            System.out.println(Lib.mark(arg));
        }
    }
}
