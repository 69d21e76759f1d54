import "fmt"

for {
	fmt.Println("again and again and again and again and again and again")
}
