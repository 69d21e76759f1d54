package main

func deeper(n int) int { return deeper(n+1) + 1 }

func main() { println(deeper(0)) }
