//go:build !(linux && cgo && seccomp)

package libcontainer

// A launcher without seccomp would make sandboxes without a system call filter, so
// it does not build: build with CGO_ENABLED=1 and -tags seccomp, with the headers
// of libseccomp installed (Debian: libseccomp-dev, pkg-config, gcc). `make build`
// does so.
var _ = buildWithCgoAndTheTagSeccomp
