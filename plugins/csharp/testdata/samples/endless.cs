using System;
Console.WriteLine("begun");
while (true) {
}
