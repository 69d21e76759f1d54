import "fmt"

fmt.Println(undefined)
