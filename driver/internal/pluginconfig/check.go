package pluginconfig

import (
	"net/url"

	"github.com/yurtrun/yurt"
)

// checkImages refuses settings of images without an effect.
func (c *Config) checkImages() error {
	if c.Images {
		return nil
	}
	for name, set := range map[string]bool{"image_registries": c.ImageRegistries != nil, "image_layouts": c.ImageLayouts != nil, "image_auth": c.ImageAuth != ""} {
		if set {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, name, "it says which images tasks may have, and they may have none; set images, or leave this out")
		}
	}
	return nil
}

// checkNomad checks where Nomad's API is said to be.
func (c *Config) checkNomad() error {
	if c.NomadAddress == "" {
		if c.NomadTokenFile != "" || c.NomadCAFile != "" {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "nomad_address", "nomad_token_file and nomad_ca_file are for this address; give it, such as \"http://127.0.0.1:4646\", or leave them out")
		}
		return nil
	}
	address, err := url.Parse(c.NomadAddress)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "nomad_address", "%q is not the URL of an agent of Nomad; give one such as \"http://127.0.0.1:4646\"", c.NomadAddress)
	}
	return nil
}
