package pid1

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// On cgroup v2 a child is born in its cgroup by clone3, which the filter denies. So
// init itself is under a filter that allows it, and each child begins as this
// binary again, already without privileges, loads the filter proper, and becomes
// the user's command. Until then it runs no code but ours, and since the binary
// may be executed but not read, the kernel lets no other process look into it.

// stageArg is the first argument of the binary in that role.
const stageArg = "-stage"

func stageArgs(filterFD int, path string, argv []string) []string {
	return append([]string{os.Args[0], stageArg, strconv.Itoa(filterFD), path}, argv...)
}

// stage loads the filter and becomes the command. It returns only if it cannot.
func stage(args []string) error {
	if len(args) < 3 {
		return errors.New("yurt-init is not run by hand")
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("reading the filter's descriptor: %w", err)
	}
	filter := os.NewFile(uintptr(fd), "filter")
	program, err := readFilter(filter)
	if err != nil {
		return err
	}
	filter.Close()
	if err := loadFilter(program); err != nil {
		return err
	}
	if err := syscall.Exec(args[1], args[2:], os.Environ()); err != nil {
		return fmt.Errorf("%s: %w", args[2], err)
	}
	return nil
}
