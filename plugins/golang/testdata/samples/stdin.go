import (
	"fmt"
	"io"
	"os"
	"strings"
)

data, _ := io.ReadAll(os.Stdin)
fmt.Print(strings.ToUpper(string(data)))
