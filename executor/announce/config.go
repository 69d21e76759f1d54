package announce

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yurtrun/yurt"
)

const (
	// ServiceName is that of every executor.
	ServiceName = "yurt-executor"
	// KeyPrefix and the name of a node are the key of its capacity.
	KeyPrefix = "yurt/capacity/"
	// DefaultTTL is how long, and up to twice as long, an entry outlives an executor that was killed.
	DefaultTTL = 10 * time.Second
)

// Config says which node to announce, and where. Empty settings of Consul come from its own environment variables
// (CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN and so on), and then from Consul's defaults.
type Config struct {
	Consul    string // address of the node's agent: host:port, or with http://, https:// or unix://
	TokenFile string // holds the token; it is read again each time
	CAFile    string // of the agent's certificate
	CertFile  string // ours, where the agent asks for one
	KeyFile   string

	Node string // the name of this node
	// Address is host:port of the executor's API for controllers. Without a host, or with
	// one that means any, it is the one by which Consul knows this machine.
	Address string
	Version string        // of Yurt
	TTL     time.Duration // 0 is [DefaultTTL]
	Logger  *slog.Logger
}

// client returns a client of Consul's API.
func (c *Config) client() (*api.Client, error) {
	config := api.DefaultConfig()
	set(&config.Address, c.Consul)
	set(&config.TLSConfig.CAFile, c.CAFile)
	set(&config.TLSConfig.CertFile, c.CertFile)
	set(&config.TLSConfig.KeyFile, c.KeyFile)
	if c.TokenFile != "" {
		if _, err := os.ReadFile(c.TokenFile); err != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "consul-token-file", "reading the token for Consul: %w", err)
		}
	}
	client, err := api.NewClient(config)
	if err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "consul", "the settings of Consul: %w", err)
	}
	// NewClient has made it, for any kind of address.
	config.HttpClient.Transport, config.HttpClient.CheckRedirect = bounded{config.HttpClient.Transport}, stay
	return client, nil
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// token returns the token of the next request; "" leaves that to the client. It may have been renewed.
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

// split returns the address in its parts, with no host where it means any.
func (c *Config) split() (host, port string, err error) {
	host, port, err = net.SplitHostPort(c.Address)
	if err != nil {
		return "", "", fmt.Errorf("the address %q: %w", c.Address, err)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	return host, port, nil
}
