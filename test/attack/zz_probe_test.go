package attack

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/rig"
)

func TestZZProbe(t *testing.T) {
	if os.Getenv("PROBE") == "" {
		t.Skip()
	}
	e := rig.Executor(t)
	spec := rig.Spec()
	if os.Getenv("MEM") != "" {
		spec.Resources.Memory = 32 << 20
	}
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("init pid", s.PID)
	x := yurt.ExecutionSpec{ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/sh", "-c", os.Getenv("PROBE")}, Timeout: yurt.Duration(60 * time.Second), OutputLimit: 1 << 20}
	if os.Getenv("LANG_") != "" {
		x.Kind, x.Command, x.Language, x.Code = yurt.KindCode, nil, "python", os.Getenv("PROBE")
	}
	if err := e.StartExecution(t.Context(), s.ID, x); err != nil {
		t.Fatal(err)
	}
	r, err := e.WaitExecution(t.Context(), s.ID, x.ID)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("exit %d %+v\n--- stdout\n%s\n--- stderr\n%s\n", r.ExitCode, r.Error, r.Stdout, r.Stderr)
}
