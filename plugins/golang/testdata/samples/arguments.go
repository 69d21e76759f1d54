import (
	"fmt"
	"os"
)

for _, arg := range os.Args[1:] {
	fmt.Println(arg)
}
