package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/images"
)

// imageFlags say which container images sandboxes may be made of.
type imageFlags struct{ registries, layouts, auth, keep string }

const sharedImagesDir = "/var/cache/yurt/images" // of every yurt run

func (f *imageFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.registries, "image-registries", "", "the registries from which nodes may pull images: hosts such as docker.io or registry.example.com:5000, separated by commas; * for all (default: none)")
	flags.StringVar(&f.layouts, "image-layouts", "", "directories with images in the OCI layout, at any depth, separated by commas (default: none)")
	flags.StringVar(&f.auth, "image-auth", "", "a file with credentials for registries, in the format of Docker's config.json (default: none)")
	flags.StringVar(&f.keep, "images-keep", "", "how much disk unpacked images may take; those unused for longest are removed first (default: 20Gi)")
}

func (f *imageFlags) config() (images.Config, error) {
	config := images.Config{Registries: commaList(f.registries), Layouts: commaList(f.layouts), AuthFile: f.auth}
	for _, host := range config.Registries {
		if host != images.AnyRegistry && strings.ContainsAny(host, "/*@ ") {
			return config, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--image-registries", "%q is no host; give one such as docker.io or registry.example.com:5000, or * alone for all", host)
		}
	}
	for _, dir := range config.Layouts {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			return config, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--image-layouts", "%q is not an absolute and clean path", dir)
		}
	}
	if f.auth != "" && !filepath.IsAbs(f.auth) {
		return config, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--image-auth", "%q is not an absolute path", f.auth)
	}
	if f.keep == "" {
		return config, nil
	}
	size, err := yurt.ParseSize(f.keep)
	if err != nil || size <= 0 {
		return config, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--images-keep", "%q is not a size; give one such as 20Gi", f.keep)
	}
	config.KeepBytes = int64(size)
	return config, nil
}

func commaList(text string) (list []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// ownImages are the settings of yurt run: its user is root, and names the template. Runs share the
// images that they pull.
func (a *app) ownImages() images.Config {
	return images.Config{
		Registries: []string{images.AnyRegistry}, Layouts: []string{"/"}, AuthFile: a.Env("YURT_IMAGE_AUTH", ""), Dir: a.Env("YURT_IMAGES_DIR", sharedImagesDir),
	}
}
