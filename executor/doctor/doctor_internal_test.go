package doctor

import (
	"os"
	"strings"
	"testing"
)

// TestEveryLayerHasAFinding: docs/SECURITY.md and the doctor speak of the same layers.
func TestEveryLayerHasAFinding(t *testing.T) {
	findings := map[string][]string{
		"namespaces: user, pid, network, mount, ipc, uts, cgroup": {
			"user namespace", "pid namespace", "network namespace", "mount namespace", "ipc namespace", "uts namespace", "cgroup namespace",
		},
		"identity":                        {"identity"},
		"root file system":                {"root file system", "path resolution"},
		"`/proc`, `/dev`":                 {"root file system"},
		"capabilities":                    {"capabilities"},
		"seccomp":                         {"seccomp"},
		"memory of the kernel":            {"seccomp", "cgroup limits"},
		"landlock":                        {"landlock"},
		"cgroups":                         {"cgroup limits", "all sandboxes together", "swap limit"},
		"workspace":                       {"disk limit in memory", "disk limit by image", "project quota"},
		"shares of disks' time":           {"io weight"},
		"AppArmor profile, SELinux label": {"mandatory access control"},
		"time namespace":                  {"time namespace"},
		"second layer, where the template asks for it": {"second layer"},
		"core dumps":                        {"core dumps"},
		"keyring":                           {"keyring"},
		"rlimits":                           {"rlimits"},
		"stores that the kernel has one of": {"shared stores"},
		"descriptors":                       {"descriptors"},
	}
	found := make(map[string]bool)
	for _, f := range Examine(t.Context()) {
		if found[f.Mechanism] {
			t.Errorf("%s is found twice", f.Mechanism)
		}
		found[f.Mechanism] = true
	}
	text, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| layer | what it does | shown by |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := 0
	for line := range strings.Lines(table) {
		rows++
		layer := strings.TrimSpace(strings.Split(line, "|")[1])
		if len(findings[layer]) == 0 {
			t.Errorf("no finding is named for the layer %q", layer)
		}
		for _, mechanism := range findings[layer] {
			if !found[mechanism] {
				t.Errorf("the layer %q: nothing is said of %q", layer, mechanism)
			}
		}
	}
	if rows != len(findings) {
		t.Errorf("the page has %d layers, this test %d", rows, len(findings))
	}
}

func TestCovers(t *testing.T) {
	for text, want := range map[string]bool{
		"         0          0 4294967295\n": true,
		"0 100000 65536\n":                   false,
		"0 0 1000\n1000 100000 4294960000\n": true,
		"10 0 5\n":                           false,
		"":                                   false,
		"x y z\n":                            false,
		"0 0 2147483647\n":                   false, // one too few
		"1879048192 0 268435456\n":           true,
		"1879048193 0 268435456\n":           false,
	} {
		if covers(text, 1879048192, 1<<31) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestMayMount(t *testing.T) {
	for text, want := range map[string]bool{
		"CapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n": true,
		"CapPrm:\t000001ffffffffff\nCapEff:\t00000000a80425fb\n": false, // Docker's
		"CapEff:\t0000000000200000\n":                            true,
		"CapEff:\tx\n":                                           false,
		"":                                                       false,
	} {
		if mayMount(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
