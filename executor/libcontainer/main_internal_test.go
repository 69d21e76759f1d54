package libcontainer

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden file of the list of system calls anew")
	os.Exit(m.Run())
}
