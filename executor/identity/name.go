package identity

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"regexp"

	"github.com/yurtrun/yurt"
)

// Role is the kind of a part of Yurt.
type Role string

// The roles.
const (
	RoleExecutor   Role = "executor"
	RoleController Role = "controller"
)

// Name names one part of Yurt.
type Name struct {
	Role Role
	Name string // of its node, or one that its operator chose
}

// trustDomain is the host of every URI: an authority is one Yurt's alone.
const trustDomain = "yurt"

// Validate checks that the name can be in a certificate.
func (n Name) Validate() error {
	if n.Role != RoleExecutor && n.Role != RoleController {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "role", "there is no role %q; give %s or %s", n.Role, RoleExecutor, RoleController)
	}
	if len(n.Name) > 128 || !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`).MatchString(n.Name) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "name", "%q cannot be a name; give up to 128 letters, digits, dots, dashes and underscores, first and last a letter or digit", n.Name)
	}
	return nil
}

// String returns the URI.
func (n Name) String() string { return n.uri().String() }

func (n Name) uri() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: trustDomain, Path: "/" + string(n.Role) + "/" + n.Name}
}

// nameIn returns the name in a certificate, which must be exactly as it is issued.
func nameIn(certificate *x509.Certificate) (Name, error) {
	if len(certificate.URIs) != 1 {
		return Name{}, fmt.Errorf("it has %d URIs for a name; it needs one, such as %s", len(certificate.URIs), Name{RoleController, "NAME"})
	}
	text := certificate.URIs[0].String()
	for _, role := range []Role{RoleExecutor, RoleController} {
		prefix := Name{role, ""}.String()
		if len(text) <= len(prefix) || text[:len(prefix)] != prefix {
			continue
		}
		name := Name{role, text[len(prefix):]}
		if name.Validate() == nil && name.String() == text {
			return name, nil
		}
	}
	return Name{}, fmt.Errorf("it is of %q, which names no part of Yurt", text)
}
