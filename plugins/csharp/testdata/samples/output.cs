using System;
while (true) {
    Console.WriteLine("again and again and again and again and again and again");
}
