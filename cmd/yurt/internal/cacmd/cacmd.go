// Package cacmd is the command yurt ca, which makes the certificates of nodes and controllers.
package cacmd

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keycmd"
	"github.com/yurtrun/yurt/executor/identity"
)

// New returns the commands below a parent.
func New(t keycmd.Terminal) []*cobra.Command { return []*cobra.Command{newInit(t), newIssue(t)} }

func newInit(t keycmd.Terminal) *cobra.Command {
	var dir, valid string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make an authority",
		Long: `Make an authority: a certificate and a key. Copy the certificate to every executor and
controller. Keep the key apart from them: it makes certificates for all names.`,
		Example: "  yurt ca init --dir ./ca",
		Args:    arguments.None,
		RunE: func(*cobra.Command, []string) error {
			life, err := lifetime(valid)
			if err != nil {
				return err
			}
			if err := identity.InitAuthority(dir, life, time.Now); err != nil {
				return err
			}
			certificate, key := filepath.Join(dir, identity.AuthorityFile), filepath.Join(dir, identity.AuthorityKeyFile)
			if t.JSON() {
				return t.PrintJSON(map[string]string{"certificate": certificate, "key": key})
			}
			t.Printf("%s  for every executor and controller\n%s  stays here: keep it safe, and off the machines that run code\n", certificate, key)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "the directory to write the authority to")
	cmd.Flags().StringVar(&valid, "valid", identity.DefaultAuthorityLife.String(), "how long the certificate is valid")
	return cmd
}

func newIssue(t keycmd.Terminal) *cobra.Command {
	var dir, out, valid string
	cmd := &cobra.Command{
		Use:   "issue executor|controller NAME",
		Short: "Issue a certificate to an executor or a controller",
		Long: `Issue a certificate and its key to the executor of a node, or to a controller. To renew them,
run the command again: it replaces the files, and the programs that use them read the new ones
without a restart.`,
		Example: "  yurt ca issue executor node1 --dir ./ca --out ./certs\n  yurt ca issue controller eu1 --valid 720h",
		Args:    arguments.Between(2, 2, "a role and a name"),
		RunE: func(_ *cobra.Command, args []string) error {
			life, err := lifetime(valid)
			if err != nil {
				return err
			}
			return issue(t, identity.Name{Role: identity.Role(args[0]), Name: args[1]}, dir, out, life)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "the directory of the authority")
	cmd.Flags().StringVar(&out, "out", ".", "the directory to write the certificate and the key to")
	cmd.Flags().StringVar(&valid, "valid", identity.DefaultLife.String(), "how long the certificate is valid")
	return cmd
}

func issue(t keycmd.Terminal, name identity.Name, dir, out string, life time.Duration) error {
	if err := name.Validate(); err != nil { // it names files too
		return err
	}
	authority, err := identity.OpenAuthority(dir, time.Now)
	if err != nil {
		return err
	}
	base := filepath.Join(out, string(name.Role)+"-"+name.Name)
	certificate, key := base+".pem", base+"-key.pem"
	expires, err := authority.Issue(name, life, certificate, key)
	if err != nil {
		return err
	}
	if t.JSON() {
		return t.PrintJSON(map[string]string{"name": name.String(), "certificate": certificate, "key": key, "expires": expires.UTC().Format(time.RFC3339)})
	}
	t.Printf("%s\n%s\n%s until %s\n", certificate, key, name, expires.UTC().Format(time.RFC3339))
	return nil
}

// lifetime reads how long a certificate is to be valid.
func lifetime(text string) (time.Duration, error) {
	const least = time.Minute
	life, err := yurt.ParseDuration(text)
	if err != nil || life.Std() < least {
		return 0, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--valid", "%q is no time for a certificate; give a minute or more, such as 720h", text)
	}
	return life.Std(), nil
}
