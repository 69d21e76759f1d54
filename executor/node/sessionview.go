package node

import (
	"slices"
	"strings"

	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/pkgsocket"
)

// had are the packages that a session has of one package manager before an installation: distributions of
// Python, by normalized name, or packages of Node.
type had struct {
	manager string
	dists   map[string]string // the session sees this version
}

// installedIn returns the packages that commands of the session installed, and the template's.
func (p *provisioner) installedIn(s *Handle, runtime string) (*had, error) {
	h := &had{manager: pkgsocket.Npm, dists: make(map[string]string)}
	digests := s.InstalledLayers(runtime)
	if runtime == "python" {
		h.manager = pkgsocket.Pip
		if template := s.TemplateLayer(runtime); s.HasLayers(template) && len(template) > 0 {
			digests = append(digests, template[0].Digest)
		}
	}
	for _, digest := range digests {
		dists, err := h.of(p.node.layers.Tree(digest))
		if err != nil {
			return nil, err
		}
		for name, version := range dists {
			if _, newer := h.dists[name]; !newer {
				h.dists[name] = version
			}
		}
	}
	return h, nil
}

// of returns the packages in a layer. Of Node's it returns those that were asked for.
func (h *had) of(tree string) (map[string]string, error) {
	if h.manager == pkgsocket.Pip {
		return packages.Dists(tree)
	}
	return packages.Modules(tree)
}

// all returns the packages of the request if the session has each of them, and nil otherwise.
func (h *had) all(r pkgsocket.Request) (there []pkgsocket.Package) {
	if h.manager != pkgsocket.Pip || r.Upgrade {
		return nil
	}
	for _, p := range r.Packages {
		name, rest := nameOf(p)
		version, has := h.dists[packages.Normalized(name)]
		if !has || rest != "" && rest != "=="+version {
			return nil
		}
		there = append(there, pkgsocket.Package{Name: name, Version: version})
	}
	return there
}

// nameOf takes the name of a distribution off the beginning of a requirement of pip.
func nameOf(requirement string) (name, rest string) {
	at := strings.IndexAny(requirement, "[(<>=!~; ")
	if at < 0 {
		return requirement, ""
	}
	return requirement[:at], strings.ReplaceAll(requirement[at:], " ", "")
}

// fits reports whether a layer has no package that the session has in another version, apart from
// those of the request.
func (h *had) fits(tree string, r pkgsocket.Request) bool {
	if h.manager == pkgsocket.Npm { // each package of Node finds its own dependencies
		return true
	}
	dists, err := packages.Dists(tree)
	if err != nil {
		return false
	}
	asked := h.asked(r)
	for name, version := range dists {
		if had, there := h.dists[name]; there && had != version && !asked[name] {
			return false
		}
	}
	return true
}

func (h *had) asked(r pkgsocket.Request) map[string]bool {
	asked := make(map[string]bool)
	for _, p := range r.Packages {
		name, _ := nameOf(p)
		asked[packages.Normalized(name)] = true
	}
	return asked
}

// constraints returns the path of a file that keeps pip to the session's versions; "" if the session has no packages.
func (h *had) constraints(r pkgsocket.Request) string {
	if h.manager == pkgsocket.Npm {
		return ""
	}
	asked := h.asked(r)
	var lines []string
	for name, version := range h.dists {
		if !asked[name] {
			lines = append(lines, name+"=="+version+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// answer names the packages of the request, with their versions.
func (h *had) answer(r pkgsocket.Request, tree string) (answer pkgsocket.Answer, err error) {
	dists, err := h.of(tree)
	if err != nil {
		return answer, err
	}
	asked := h.asked(r)
	for name, version := range dists {
		if h.manager == pkgsocket.Npm || asked[name] {
			answer.Installed = append(answer.Installed, pkgsocket.Package{Name: name, Version: version})
		}
		if had, there := h.dists[name]; there && had != version {
			answer.Replaced = append(answer.Replaced, pkgsocket.Package{Name: name, Version: had})
		}
	}
	for _, list := range [][]pkgsocket.Package{answer.Installed, answer.Replaced} {
		slices.SortFunc(list, func(a, b pkgsocket.Package) int { return strings.Compare(a.Name, b.Name) })
	}
	return answer, nil
}
