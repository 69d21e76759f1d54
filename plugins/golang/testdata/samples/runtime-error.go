import "fmt"
fmt.Println("before")
panic("boom")
