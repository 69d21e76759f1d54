using System;
static int Deeper(int n) { return Deeper(n + 1) + 1; }
Console.WriteLine(Deeper(0));
