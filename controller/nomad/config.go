package nomad

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Config says how to reach Nomad and which jobs to ask of it. Empty fields come from Nomad's own environment variables (NOMAD_ADDR,
// NOMAD_TOKEN, NOMAD_CACERT and so on), and then from Nomad's defaults.
type Config struct {
	Address   string // of an agent's HTTP API: http://, https:// or unix://
	Region    string
	Namespace string
	// Token is an ACL token that may submit, read and list jobs and parse them in the
	// namespace, and read nodes unless MHzPerCore is given.
	Token string
	// TokenFile holds the token; it is read again when it has changed.
	TokenFile string
	CAFile    string // of the agent's certificate
	CertFile  string // ours, where the agent asks for one
	KeyFile   string
	// ServerName is the name in the agent's certificate, where it is not that in Address.
	ServerName string

	// Jobspec is the text of the job that is registered for each slot; "" is the one that
	// ships.
	Jobspec string
	// Datacenters and NodePool are set in the job when they are given.
	Datacenters []string
	NodePool    string
	// MHzPerCore is one core of a session in Nomad's unit. 0 takes the mean of the ready nodes.
	MHzPerCore int
	// MaxInFlight is how many orders are with Nomad at once; 0 is 16.
	MaxInFlight int

	Logger *slog.Logger
}

const defaultInFlight = 16

// client returns a client of Nomad's API.
func (c *Config) client() (*api.Client, error) {
	config := api.DefaultConfig()
	set(&config.Address, c.Address)
	set(&config.Region, c.Region)
	set(&config.Namespace, c.Namespace)
	set(&config.SecretID, c.Token)
	set(&config.TLSConfig.CACert, c.CAFile)
	set(&config.TLSConfig.ClientCert, c.CertFile)
	set(&config.TLSConfig.ClientKey, c.KeyFile)
	set(&config.TLSConfig.TLSServerName, c.ServerName)
	client, err := api.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("the settings of Nomad: %w", err)
	}
	return client, nil
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// token returns the token of the next request; "" leaves that to the client. A token that Nomad renews is in a file, so it is read
// each time: that costs less than the request.
func (c *Config) token() string {
	if c.TokenFile == "" {
		return ""
	}
	data, err := os.ReadFile(c.TokenFile)
	if err != nil {
		c.Logger.Warn("the token for Nomad cannot be read", "file", c.TokenFile, "error", err)
		return ""
	}
	return strings.TrimSpace(string(data))
}
