package java

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/xml"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

//go:embed install.sh
var install []byte

const layerDir = "layer"

var _ plugins.DependencyPlanner = Runtime{}

// PlanDependencies implements [plugins.DependencyPlanner]: Maven downloads the required libraries,
// GROUP:ARTIFACT:VERSION, or those that pom.xml lists, and their own dependencies.
func (Runtime) PlanDependencies(_ context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	required := slices.Compact(slices.Sorted(slices.Values(req.Requirements)))
	i := slices.IndexFunc(req.Files, func(f plugins.File) bool { return f.Path == "pom.xml" })
	var pom []byte
	switch {
	case i >= 0 && len(required) > 0:
		return plugins.DependencyPlan{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "dependencies", "the project has a pom.xml; list the libraries there, under <dependencies>")
	case i >= 0 && bytes.Contains(req.Files[i].Data, []byte("<dependency>")):
		pom = req.Files[i].Data
	case len(required) == 0:
		return plugins.DependencyPlan{}, nil
	default:
		var err error
		if pom, err = pomOf(required); err != nil {
			return plugins.DependencyPlan{}, err
		}
	}
	if req.Tools["mvn"] == "" {
		return plugins.DependencyPlan{}, yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "dependencies",
			"the template has no mvn, which installs libraries for Java; install it, on Debian with apt-get install maven")
	}
	return plugins.DependencyPlan{
		Inputs: []string{"maven"}, Files: []plugins.File{{Path: "install.sh", Data: install}, {Path: "pom.xml", Data: pom}},
		Argv:     []string{"/bin/sh", "install.sh", req.Tools["java"], req.Tools["mvn"], path.Join(req.Dir, layerDir)},
		LayerDir: layerDir,
		RunEnv:   map[string]string{"CLASSPATH": path.Join(req.Mount, "lib", "*")},
	}, nil
}

// pomOf returns the project of a snippet that requires the libraries.
func pomOf(required []string) ([]byte, error) {
	type dependency struct {
		Group    string `xml:"groupId"`
		Artifact string `xml:"artifactId"`
		Version  string `xml:"version"`
	}
	project := struct {
		XMLName      xml.Name     `xml:"project"`
		Model        string       `xml:"modelVersion"`
		Group        string       `xml:"groupId"`
		Artifact     string       `xml:"artifactId"`
		Version      string       `xml:"version"`
		Packaging    string       `xml:"packaging"`
		Dependencies []dependency `xml:"dependencies>dependency"`
	}{Model: "4.0.0", Group: "app", Artifact: "app", Version: "1", Packaging: "pom"}
	for _, r := range required {
		if !regexp.MustCompile(`^[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+:[A-Za-z0-9_.+-]+$`).MatchString(r) {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "dependencies", "%.100q is not a library; write GROUP:ARTIFACT:VERSION, such as org.apache.commons:commons-lang3:3.14.0", r)
		}
		parts := strings.Split(r, ":")
		project.Dependencies = append(project.Dependencies, dependency{parts[0], parts[1], parts[2]})
	}
	return xml.Marshal(project)
}
