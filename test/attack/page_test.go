package attack

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

//go:generate go test -tags seccomp -run ^TestPage$ -update .

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write docs/ATTACKS.md")
	os.Exit(m.Run())
}

// wantAttacks is how many there are at least.
const wantAttacks = 350

// class is a kind of attacks, as the page shows it.
type class struct {
	name, test, about, fails string
	attacks                  []listed
}

// listed is an attack as the page shows it.
type listed struct {
	name, tries string
	layer       layer
	result      string
}

// classes are those of all attacks that the tests of this package make. Each list is the one that
// its test runs through.
func classes() []class {
	var all []class
	for _, b := range batteries() {
		c := class{name: b.name, test: "TestBatteries", about: b.about, fails: b.fails}
		for _, a := range b.trials {
			c.attacks = append(c.attacks, b.listed(a))
		}
		all = append(all, c)
	}
	return append(all, programClasses()...)
}

func (b battery) listed(a trial) listed {
	l := listed{name: a.name, tries: a.tries, layer: b.layer, result: strings.Join(b.stoppedBy(a), ", ")}
	if a.layer != "" {
		l.layer = a.layer
	}
	if a.without != inSandbox {
		l.result += "; succeeds with " + string(a.without)
	}
	return l
}

// programClasses are the attacks that have a program and a sandbox each.
func programClasses() []class {
	list := func(name, test, about string, attacks []attack) class {
		c := class{name: name, test: test, about: about}
		for _, a := range attacks {
			c.attacks = append(c.attacks, listed{name: slug(a.name), tries: a.name, layer: a.layer, result: "held: " + a.fails})
		}
		return c
	}
	return []class{
		list("escapes", "TestEscapes", "Code looks for a way out of its sandbox's namespaces and root.", escapes()),
		list("kernel", "TestKernel", "Code widens its reach into the kernel.", kernelAttacks()),
		list("known-escapes", "TestKnownEscapes", "Code tries the known escapes from other sandboxes.", knownEscapes()),
		list("netlink", "TestNetwork", "Code changes its network, or speaks to the kernel by it.", networkAttacks()),
		list("exhaustion", "TestExhaustion", "Code takes all that there is of something, and does not give it back.", exhaustions()),
		list("results", "TestResults", "Code forges its harness's result of the run.", forgedResults()),
		list("layer", "TestLayers", "Code attacks the second layer, where each execution has namespaces of its own.", layerAttacks()),
		list("given-devices", "TestDevices", "Code goes through a device that its sandbox was given.", deviceAttacks("", "")),
		files(), proxied(), hoarded(),
		list("quotas", "TestProjectQuotas", "Code gets around the quota of a workspace on the node's disk.", quotaAttacks("")),
	}
}

// hoarded are the attacks on memory of the kernel.
func hoarded() class {
	c := class{name: "hoards", test: "TestHoards", about: "Code takes as much as it can of one kind of object in the kernel, so that the host loses more memory than cgroups are charged for."}
	hoards := hoards()
	for _, name := range slices.Sorted(maps.Keys(hoards)) {
		bound := uncharged >> 20
		c.attacks = append(c.attacks, listed{name: slug(name), tries: name, layer: byCgroup, result: fmt.Sprintf("held: at most %d MiB beyond the charge", bound)})
	}
	return c
}

// files are the attacks on a node that uses the files of a sandbox.
func files() class {
	c := class{name: "files", test: "TestFiles", about: "Code leaves files by which the node is led astray when it reads and writes for the API."}
	for _, a := range fileAttacks() {
		c.attacks = append(c.attacks, listed{name: slug(a.name), tries: a.name, layer: byFileAPI, result: "held: " + a.fails})
	}
	return c
}

// proxied are the attacks on the proxy of installations.
func proxied() class {
	c := class{name: "egress", test: "TestEgress", about: "An install script speaks to the proxy by which packages are fetched, the one way out of its sandbox."}
	for _, a := range egressAttacks("mirror.test:80", "127.0.0.1:80")[1:] { // the first one is no attack
		c.attacks = append(c.attacks, listed{name: slug(a.name), tries: a.name, layer: byEgress, result: "held: " + a.fails})
	}
	return c
}

// slug is a name as it stands in a list: words of letters and digits with lines between.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}

// page writes docs/ATTACKS.md.
func page(all []class) string {
	var text strings.Builder
	total, shown := 0, 0
	used := make(map[layer]int)
	for _, c := range all {
		for _, a := range c.attacks {
			total++
			used[a.layer]++
			if strings.Contains(a.result, "; succeeds with ") {
				shown++
			}
		}
	}
	fmt.Fprintf(&text, `# Attacks

Generated from `+"`test/attack`"+` by `+"`go generate ./test/attack`"+`: do not edit.

The suite makes %d attacks on real sandboxes, and all must fail. The table names for each attack the layer that must
stop it; others may stop it, too. The result is the one that its test requires: an attack ends with one of the named errors
or signals, or "held" means that it ran to its end without success. %d of them are repeated without the layer, and must
succeed there: as root of new namespaces ("succeeds with namespaces alone"), or as root of the host ("succeeds with no
sandbox"). The others are not repeated, since they would harm the host, or need other hosts than that of the tests.

| layer | meaning | attacks |
| --- | --- | --- |
`, total, shown)
	var layers []layer
	for l := range used {
		layers = append(layers, l)
	}
	slices.SortFunc(layers, func(a, b layer) int {
		if used[a] != used[b] {
			return used[b] - used[a]
		}
		return strings.Compare(string(a), string(b))
	})
	for _, l := range layers {
		fmt.Fprintf(&text, "| %s | %s | %d |\n", l, l.meaning(), used[l])
	}
	for _, c := range all {
		fmt.Fprintf(&text, "\n## %s\n\n%s (%s)\n", c.name, c.about, c.test)
		if c.fails != "" {
			fmt.Fprintf(&text, "Each must fail, since %s.\n", c.fails)
		}
		text.WriteString("\n| attack | tries | stopped by | result |\n| --- | --- | --- | --- |\n")
		for _, a := range c.attacks {
			fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", cell(a.name), cell(a.tries), a.layer, cell(a.result))
		}
	}
	return text.String()
}

// cell is a text that is safe in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}

// TestPage holds docs/ATTACKS.md to the lists of the suite. After a change: go generate ./test/attack.
func TestPage(t *testing.T) {
	all := classes()
	total := 0
	names := make(map[string]bool)
	for _, c := range all {
		for _, a := range c.attacks {
			total++
			name := c.name + "/" + a.name
			if names[name] {
				t.Errorf("two attacks are called %s; their names must differ", name)
			}
			names[name] = true
			if a.layer.meaning() == "" || a.tries == "" || a.result == "" {
				t.Errorf("attack %s is incomplete: it tries %q, layer %q, result %q", name, a.tries, a.layer, a.result)
			}
		}
	}
	if total < wantAttacks {
		t.Errorf("there are %d attacks, want %d at least", total, wantAttacks)
	}
	const file = "../../docs/ATTACKS.md"
	got := page(all)
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it by go generate ./test/attack", err)
	}
	if d := gocmp.Diff(string(want), got); d != "" {
		t.Errorf("docs/ATTACKS.md is stale, write it by go generate ./test/attack:\n%s", d)
	}
}
