package host

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// certificate is the one by which a runtime knows its host. It takes the place of the certificate that go-plugin makes (AutoMTLS),
// whose curve, P-521, cost both processes most of the time of a start. The handshake is that of go-plugin: the runtime answers
// with a certificate of its own, which the host trusts and no other.
type certificate struct{ tls tls.Certificate }

// peerName is the name in both certificates.
const peerName = "localhost"

// newCertificate makes a certificate for one runtime. Its key stays in this process.
func newCertificate() (certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, fmt.Errorf("making a key for a runtime: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: peerName}, DNSNames: []string{peerName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(30, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return certificate{}, fmt.Errorf("making a certificate for a runtime: %w", err)
	}
	return certificate{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// config trusts no certificate until go-plugin adds that of the runtime, which the handshake has.
func (c certificate) config() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{c.tls}, MinVersion: tls.VersionTLS12, ServerName: peerName,
		RootCAs: x509.NewCertPool(), ClientCAs: x509.NewCertPool(), ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// variable gives the runtime the certificate, as go-plugin does.
func (c certificate) variable() string {
	block := &pem.Block{Type: "CERTIFICATE", Bytes: c.tls.Certificate[0]}
	return certificateEnv + "=" + string(pem.EncodeToMemory(block))
}
