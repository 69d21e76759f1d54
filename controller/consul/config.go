package consul

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"
)

// Config says how to reach Consul. Empty fields come from Consul's own environment variables (CONSUL_HTTP_ADDR,
// CONSUL_HTTP_TOKEN and so on), and then from Consul's defaults.
type Config struct {
	Address    string // of an agent's HTTP API: host:port, or with http://, https:// or unix://
	Datacenter string
	Namespace  string
	Token      string // may read the service and the keys
	TokenFile  string // holds the token; it is read again for each request
	CAFile     string // of the agent's certificate
	CertFile   string // ours, where the agent asks for one
	KeyFile    string

	// Forget is how long a node whose key has vanished stays in the picture, not healthy; 0
	// is [DefaultForget].
	Forget time.Duration
	Logger *slog.Logger

	wait time.Duration // how long an answer is held back without a change; 0 is defaultWait
}

// DefaultForget is how long a node that is gone stays in the picture.
const DefaultForget = 5 * time.Second

// maxAnswer bounds one answer of Consul's, which holds the values of all nodes.
const maxAnswer = 256 << 20

func (c *Config) client() (*api.Client, error) {
	config := api.DefaultConfig()
	config.Datacenter = c.Datacenter
	config.Namespace = c.Namespace
	set(&config.Address, c.Address)
	set(&config.Token, c.Token)
	set(&config.TLSConfig.CAFile, c.CAFile)
	set(&config.TLSConfig.CertFile, c.CertFile)
	set(&config.TLSConfig.KeyFile, c.KeyFile)
	consul, err := api.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("the settings of Consul: %w", err)
	}
	// NewClient has made it, for any kind of address.
	config.HttpClient.Transport, config.HttpClient.CheckRedirect = bounded{config.HttpClient.Transport}, stay
	return consul, nil
}

// stay refuses redirections: Consul does not redirect, and the token is for Consul alone.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// token returns the token of the next request; "" leaves that to the client. A token that is renewed is in a file.
func (c *Config) token() string {
	if c.TokenFile == "" {
		return ""
	}
	data, err := os.ReadFile(c.TokenFile)
	if err != nil {
		c.Logger.Warn("the token for Consul cannot be read", "file", c.TokenFile, "error", err)
		return ""
	}
	return strings.TrimSpace(string(data))
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// bounded cuts answers off that are too long, so that they do not decode.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}
