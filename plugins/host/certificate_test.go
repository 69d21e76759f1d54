package host

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
)

// TestCertificateIsQuick: on go-plugin's own curve, P-521, the arithmetic is most of a start.
func TestCertificateIsQuick(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "curve", "zgood"))
	checkBroken(t, h, "curve", yurt.CodeRuntimeUnavailable, []string{"P-256"})
}

// TestRuntimeWithoutItsCertificate: a host asks no runtime that has not shown the certificate of its handshake.
func TestRuntimeWithoutItsCertificate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"open", "untrusted"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, pluginDir(t, name, "zgood"), WithStartTimeout(20*time.Second))
			checkBroken(t, h, name, yurt.CodeRuntimeUnavailable, nil)
		})
	}
}

// hostCurve names the curve of the host's key, as a runtime sees it.
func hostCurve() string {
	block, _ := pem.Decode([]byte(os.Getenv("PLUGIN_CLIENT_CERT")))
	if block == nil {
		return "there is no certificate"
	}
	read, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err.Error()
	}
	key, ok := read.PublicKey.(*ecdsa.PublicKey)
	if !ok {
		return "the key has no curve"
	}
	return key.Params().Name
}

// serveAs serves a runtime without TLS, or by a certificate that its handshake does not name.
func serveAs(kind string) {
	config := &plugin.ServeConfig{
		HandshakeConfig:  protocol.Handshake(),
		VersionedPlugins: map[int]plugin.PluginSet{1: {protocol.Service: &hostile{name: kind}}},
		GRPCServer:       func(options []grpc.ServerOption) *grpc.Server { return grpc.NewServer(options...) },
		Logger:           hclog.NewNullLogger(),
	}
	if kind == "untrusted" {
		config.TLSProvider = func() (*tls.Config, error) {
			other, err := newCertificate()
			return &tls.Config{Certificates: []tls.Certificate{other.tls}, MinVersion: tls.VersionTLS12}, err
		}
	}
	plugin.Serve(config)
}
