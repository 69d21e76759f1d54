using System;
Console.WriteLine("never");
Undefined();
