package executor

import (
	"os"
	"strings"

	"github.com/yurtrun/yurt"
)

// Where the kernel says what it has of mandatory access control.
const (
	appArmorEnabled  = "/sys/module/apparmor/parameters/enabled"
	appArmorProfiles = "/sys/kernel/security/apparmor/profiles"
	seLinuxEnforce   = "/sys/fs/selinux/enforce"
)

// checkLabels refuses labels that this host would not enforce.
func checkLabels(profile, label string) error {
	if profile != "" {
		if !hasAppArmor() {
			return yurt.FieldErrorf(yurt.CodeNotSupported, "apparmor_profile", "profile %q was given, and AppArmor is not enabled on this host; leave it out, or boot with apparmor=1", profile)
		}
		loaded, err := os.ReadFile(appArmorProfiles)
		if err != nil || !hasProfile(string(loaded), profile) {
			return yurt.FieldErrorf(yurt.CodeNotSupported, "apparmor_profile", "there is no profile %q loaded on this host; load it with apparmor_parser", profile)
		}
	}
	if label != "" && !hasSELinux() {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "selinux_label", "label %q was given, and SELinux is not enabled on this host; leave it out, or boot with selinux=1", label)
	}
	return nil
}

func hasAppArmor() bool {
	enabled, err := os.ReadFile(appArmorEnabled)
	return err == nil && strings.TrimSpace(string(enabled)) == "Y"
}

func hasSELinux() bool {
	_, err := os.Stat(seLinuxEnforce)
	return err == nil
}

// hasProfile reports whether the text, of lines "NAME (MODE)", names the profile.
func hasProfile(text, profile string) bool {
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), " ("); ok && name == profile {
			return true
		}
	}
	return false
}
