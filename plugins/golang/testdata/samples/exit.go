import (
	"fmt"
	"os"
)

fmt.Println("before")
os.Exit(7)
