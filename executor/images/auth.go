package images

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/imagefiles"
)

// credentials reads the credentials for registries: the "auths" of a file like Docker's config.json. The file is read for each
// pull, so that a change needs no restart. Helpers are programs that this process must not run: such an entry is an error where
// the file has no other for the registry.
type credentials struct {
	files imagefiles.Requests
	path  string // "" for no credentials
}

// Resolve implements [authn.Keychain].
func (c credentials) Resolve(to authn.Resource) (authn.Authenticator, error) {
	if c.path == "" {
		return authn.Anonymous, nil
	}
	opened, err := c.files.OpenCredentials()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	data, err := io.ReadAll(opened)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials for registries: %w", err)
	}
	var file struct {
		Auths       map[string]authn.AuthConfig `json:"auths"`
		CredHelpers map[string]string           `json:"credHelpers"`
		CredsStore  string                      `json:"credsStore"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		// The decoder's message may quote the file.
		return nil, yurt.Errorf(yurt.CodeUnavailable, "the credentials for registries in %s cannot be read: it is not as Docker's config.json", c.path)
	}
	host := registryName(to.RegistryStr())
	for name, config := range file.Auths {
		if registryName(authHost(name)) == host && config != (authn.AuthConfig{}) {
			return authn.FromConfig(config), nil
		}
	}
	if file.CredHelpers[to.RegistryStr()] != "" || file.CredsStore != "" {
		return nil, yurt.Errorf(yurt.CodeNotSupported, "the credentials for %s are with a credential helper, and Yurt runs none; give %s an entry in \"auths\" with them", host, c.path)
	}
	return authn.Anonymous, nil
}

// authHost is the registry that an entry of the file is about, such as
// "https://index.docker.io/v1/".
func authHost(name string) string {
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	host, _, _ := strings.Cut(name, "/")
	return host
}
