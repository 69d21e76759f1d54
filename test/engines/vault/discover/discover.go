// Package discover stands in for the module of that name in the build of Vault for tests. That one
// asks the interfaces of all cloud providers where Vault's servers are, which is most of the code
// to compile; this one knows no provider. A Vault that has its storage in memory never asks.
package discover

import (
	"errors"
	"fmt"
	"log"
)

// Provider finds servers.
type Provider interface {
	Addrs(args map[string]string, l *log.Logger) ([]string, error)
	Help() string
}

// Providers are all that there are.
var Providers map[string]Provider

// Config tells a provider where to look.
type Config map[string]string

// String shows the settings.
func (c Config) String() string { return fmt.Sprint(map[string]string(c)) }

// Parse refuses every configuration.
func Parse(string) (Config, error) { return nil, errNone }

var errNone = errors.New("this build of Vault finds no servers")

// Discover would find servers.
type Discover struct{}

// Option is a setting of a [Discover].
type Option func(*Discover) error

// New returns one.
func New(...Option) (*Discover, error) { return &Discover{}, nil }

// WithProviders says which providers to ask.
func WithProviders(map[string]Provider) Option { return nil }

// Addrs says that there is no provider.
func (*Discover) Addrs(string, *log.Logger) ([]string, error) {
	return nil, errNone
}
