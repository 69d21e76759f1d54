using System;
Console.WriteLine("grüße 🏕");
