using System;
Console.WriteLine("before");
throw new InvalidOperationException("boom");
