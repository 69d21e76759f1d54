// Package lsm says what the host has of mandatory access control, and refuses labels that
// it would not enforce. Its callers are the executor, as it starts, and the doctor. It reads
// what the kernel says and changes nothing; that a label is put on a process is the
// launcher's doing.
package lsm

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

// CheckLabels refuses labels that this host would not enforce.
func CheckLabels(profile, label string) error {
	if profile != "" {
		if !HasAppArmor() {
			return yurt.FieldErrorf(yurt.CodeNotSupported, "apparmor_profile", "profile %q was given, and AppArmor is not enabled on this host; leave it out, or boot with apparmor=1", profile)
		}
		loaded, err := os.ReadFile(appArmorProfiles)
		if err != nil || !hasProfile(string(loaded), profile) {
			return yurt.FieldErrorf(yurt.CodeNotSupported, "apparmor_profile", "there is no profile %q loaded on this host; load it with apparmor_parser", profile)
		}
	}
	if label != "" && !HasSELinux() {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "selinux_label", "label %q was given, and SELinux is not enabled on this host; leave it out, or boot with selinux=1", label)
	}
	return nil
}

// HasAppArmor reports whether AppArmor is enabled on this host.
func HasAppArmor() bool {
	enabled, err := os.ReadFile(appArmorEnabled)
	return err == nil && strings.TrimSpace(string(enabled)) == "Y"
}

// HasSELinux reports whether SELinux is enabled on this host.
func HasSELinux() bool {
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
