import "fmt"

fmt.Println("begun")
for {
}
