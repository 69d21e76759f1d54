using System;

class App {
    static void Main(string[] args) {
        foreach (var arg in args) {
            Console.WriteLine(Lib.Mark(arg));
        }
    }
}
