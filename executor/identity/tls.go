package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// http2 is the protocol that is spoken over TLS.
const http2 = "h2"

// ServerConfig returns the configuration of a listener that takes callers of one role. It uses the files as they are when a caller
// comes.
func (s *Source) ServerConfig(callers Role) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{http2},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m, err := s.current()
			if err != nil {
				return nil, err
			}
			return &tls.Config{
				MinVersion: tls.VersionTLS13, NextProtos: []string{http2},
				Certificates: []tls.Certificate{m.certificate},
				// Checked by the library, which then tells the caller the fault, and once more below, where the name is.
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: m.roots, Time: s.now,
				SessionTicketsDisabled: true, // each connection is judged by the authorities of that moment
				VerifyConnection: func(state tls.ConnectionState) error {
					peer, err := verify(state, m.roots, x509.ExtKeyUsageClientAuth, s.now())
					if err == nil && peer.Role != callers {
						err = fmt.Errorf("the caller is %s, and only a %s may call", peer, callers)
					}
					return err
				},
			}, nil
		},
	}
}

// ClientConfig returns the configuration of one connection to the part of that name. It uses the files as they are now.
func (s *Source) ClientConfig(to Name) (*tls.Config, error) {
	m, err := s.current()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{http2},
		Certificates: []tls.Certificate{m.certificate}, Time: s.now,
		// The library would check a host name, but a part is known by its URI. The library's other checks are made below.
		InsecureSkipVerify: true, //nolint:gosec // see VerifyConnection
		VerifyConnection: func(state tls.ConnectionState) error {
			peer, err := verify(state, m.roots, x509.ExtKeyUsageServerAuth, s.now())
			if err == nil && peer != to {
				err = fmt.Errorf("it was to be %s, and is %s", to, peer)
			}
			return err
		},
	}, nil
}

// verify returns the name of the other side.
func verify(state tls.ConnectionState, roots *x509.CertPool, usage x509.ExtKeyUsage, now time.Time) (Name, error) {
	if len(state.PeerCertificates) == 0 {
		return Name{}, errors.New("the other side has no certificate")
	}
	leaf := state.PeerCertificates[0]
	name, err := nameIn(leaf)
	if err != nil {
		return Name{}, fmt.Errorf("the other side's certificate cannot be used: %w", err)
	}
	intermediates := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	invalid := new(x509.CertificateInvalidError)
	switch {
	case err == nil:
		return name, nil
	case errors.As(err, invalid) && invalid.Reason == x509.Expired && now.After(leaf.NotAfter):
		return Name{}, fmt.Errorf("the certificate of %s expired at %s; issue another with yurt ca issue", name, date(leaf.NotAfter))
	default:
		return Name{}, fmt.Errorf("the certificate of %s cannot be trusted: %w", name, err)
	}
}
