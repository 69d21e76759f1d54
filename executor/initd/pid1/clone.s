// Empty: its presence lets clone.go declare functions that the runtime defines.
