// Package java is the language runtime for Java.
//
// A snippet is a class with a main method, or the body of such a class, or the body of a main
// method. A project is its entry and the classes that this needs, found below the entry's source
// root; jars in lib are on the class path. javac compiles, with the virtual machine set up for a
// short life; programs are given a heap that fits the sandbox. Uncaught exceptions become the error
// of the execution.
package java
