// Package attack holds programs that try to get out of a sandbox, or to hurt the
// host or their neighbours, and tests that run them in real sandboxes. Each says why
// it must fail. One that succeeds is a hole.
package attack
