using System;
Console.WriteLine("before");
Environment.Exit(7);
