using System;

class Hello {
    static void Main() {
        Console.WriteLine("hello");
    }
}
