using System;
foreach (var arg in args) {
    Console.WriteLine(arg);
}
