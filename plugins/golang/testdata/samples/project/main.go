package main

import (
	"fmt"
	"os"

	"app/lib"
)

func main() {
	for _, arg := range os.Args[1:] {
		fmt.Println(lib.Mark(arg))
	}
}
