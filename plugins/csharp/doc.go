// Package csharp is the language runtime for C#, by a .NET SDK, or by Mono.
//
// A snippet is a program with a Main method, or the body of one: then its types and static methods
// go to the top level, and it uses the usual namespaces. A project is its entry together with every
// other C# file that came with the request. Uncaught exceptions become the error of the execution.
package csharp
