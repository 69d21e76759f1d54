// Package lsm reports the host's mandatory access control, and refuses labels that the host would not enforce. Its callers are
// the executor, as it starts, and the doctor. It reads the kernel's files and changes no setting; the launcher puts labels on
// processes.
package lsm

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/selinux/go-selinux"

	"github.com/yurtrun/yurt"
)

// The kernel's files about AppArmor.
const (
	appArmorEnabled  = "/sys/module/apparmor/parameters/enabled"
	appArmorProfiles = "/sys/kernel/security/apparmor/profiles"
)

// Labels are SELinux's labels of a sandbox; the zero value means no labels.
type Labels struct {
	Process string // of all its processes
	Files   string // of the file systems that it may write to
}

// maxSandboxes is how many sandboxes have categories of their own.
const maxSandboxes = 64 * 64

// For returns the labels of one sandbox of the host, by its number, which is less than
// 4096. Levels without categories get two, of c0 to c127, that no other sandbox has, so
// that it cannot have another's files; others stay as the operator gave them.
func (l Labels) For(sandbox int) Labels {
	categories := fmt.Sprintf(":c%d,c%d", sandbox/64, 64+sandbox%64)
	return Labels{withCategories(l.Process, categories), withCategories(l.Files, categories)}
}

func withCategories(label, categories string) string {
	context, err := selinux.NewContext(label)
	if level := context["level"]; err != nil || level == "" || strings.ContainsAny(level, "-:") {
		return label
	}
	return label + categories
}

// CheckLabels refuses labels that this host would not enforce.
func CheckLabels(profile string, labels Labels) error {
	if profile != "" {
		if err := checkProfile(profile); err != nil {
			return err
		}
	}
	if labels == (Labels{}) {
		return nil
	}
	return labels.check()
}

func checkProfile(profile string) error {
	if !HasAppArmor() {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "apparmor_profile", "profile %q was given, and AppArmor is not enabled on this host; leave it out, or boot with apparmor=1", profile)
	}
	loaded, err := os.ReadFile(appArmorProfiles)
	if err != nil {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "apparmor_profile", "which profiles are loaded cannot be read; mount securityfs at /sys/kernel/security: %w", err)
	}
	switch mode := modeOf(string(loaded), profile); mode {
	case "enforce", "kill":
		return nil
	case "":
		return yurt.FieldErrorf(yurt.CodeNotSupported, "apparmor_profile", "there is no profile %q loaded on this host; load it with apparmor_parser", profile)
	default:
		return yurt.FieldErrorf(yurt.CodeNotSupported, "apparmor_profile", "profile %q is loaded in mode %s, which refuses nothing; load it to enforce, as with aa-enforce", profile, mode)
	}
}

func (l Labels) check() error {
	given := cmp.Or(l.Process, l.Files)
	if !HasSELinux() {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "selinux_label", "label %q was given, and SELinux is not enabled on this host; leave it out, or boot with selinux=1", given)
	}
	if !EnforcesSELinux() {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "selinux_label", "label %q was given, and SELinux is permissive on this host; leave it out, or have it enforce with setenforce 1", given)
	}
	last := l.For(maxSandboxes - 1)
	for _, label := range []struct{ field, given, value string }{
		{"selinux_label", l.Process, last.Process}, {"selinux_file_label", l.Files, last.Files},
	} {
		if label.given == "" {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, label.field, "sandboxes have a label of SELinux for their processes and one for their files; give both, or none")
		}
		if err := selinux.SecurityCheckContext(label.value); err != nil {
			return yurt.FieldErrorf(yurt.CodeNotSupported, label.field, "this host's policy has no label %q, as a sandbox would get for %q: %v", label.value, label.given, err)
		}
	}
	return nil
}

// HasAppArmor reports whether AppArmor is enabled on this host.
func HasAppArmor() bool {
	enabled, err := os.ReadFile(appArmorEnabled)
	return err == nil && strings.TrimSpace(string(enabled)) == "Y"
}

// HasSELinux reports whether SELinux is enabled on this host.
func HasSELinux() bool { return selinux.GetEnabled() }

// EnforcesSELinux reports whether SELinux, if it is enabled, also refuses actions that its policy does not allow.
func EnforcesSELinux() bool { return selinux.EnforceMode() == selinux.Enforcing }

// modeOf returns in which mode a profile is loaded, by a text of lines "NAME (MODE)", or "" if
// it is not.
func modeOf(text, profile string) string {
	for line := range strings.Lines(text) {
		if mode, ok := strings.CutPrefix(strings.TrimSpace(line), profile+" ("); ok {
			return strings.TrimSuffix(mode, ")")
		}
	}
	return ""
}
