import "fmt"

fmt.Println("grüße 🏕")
