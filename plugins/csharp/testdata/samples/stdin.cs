using System;
Console.Write(Console.In.ReadToEnd().ToUpper());
