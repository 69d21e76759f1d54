package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/yurtrun/yurt"
)

// Names of the authority's files, in its directory.
const (
	AuthorityFile    = "yurt-ca.pem"     // for every part
	AuthorityKeyFile = "yurt-ca-key.pem" // secret
)

// How long certificates are valid unless something else is asked for.
const (
	DefaultAuthorityLife = 10 * 365 * 24 * time.Hour
	DefaultLife          = 90 * 24 * time.Hour
)

// clockSkew is how far clocks may differ: certificates are valid from that much before
// they are made.
const clockSkew = 5 * time.Minute

// Authority issues certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	now         func() time.Time
}

// InitAuthority makes an authority whose files are in dir, which it makes too. It replaces no file.
func InitAuthority(dir string, life time.Duration, now func() time.Time) error {
	for _, name := range []string{AuthorityFile, AuthorityKeyFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--dir", "%s is there already; everything that it issued would be worth nothing without it, so remove it yourself or give another directory", filepath.Join(dir, name))
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "Yurt authority"},
		URIs:      []*url.URL{{Scheme: "spiffe", Host: trustDomain}},
		NotBefore: now().Add(-clockSkew), NotAfter: now().Add(life),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("making the authority's certificate: %w", err)
	}
	return writePair(filepath.Join(dir, AuthorityFile), filepath.Join(dir, AuthorityKeyFile), der, key)
}

// serial returns a number that no other certificate has.
func serial() *big.Int {
	buf := make([]byte, 16)
	_, _ = rand.Read(buf) // never fails
	return new(big.Int).SetBytes(buf)
}

// OpenAuthority returns the authority whose files are in dir.
func OpenAuthority(dir string, now func() time.Time) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, AuthorityFile), filepath.Join(dir, AuthorityKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, yurt.FieldErrorf(yurt.CodeFileNotFound, "--dir", "there is no authority in %s; make one with yurt ca init --dir %s", dir, dir)
	}
	if err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--dir", "the authority in %s cannot be used: %w", dir, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--dir", "%s is no authority that yurt ca init made", filepath.Join(dir, AuthorityFile))
	}
	if now().After(pair.Leaf.NotAfter) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--dir", "the authority in %s expired at %s; make a new one, and have all parts trust both for a while", dir, date(pair.Leaf.NotAfter))
	}
	return &Authority{certificate: pair.Leaf, key: key, now: now}, nil
}

// Issue writes a new key and its certificate to the two files, which it replaces. The
// certificate is valid for life, and no longer than the authority's.
func (a *Authority) Issue(name Name, life time.Duration, certificateFile, keyFile string) (expires time.Time, err error) {
	if err := name.Validate(); err != nil {
		return time.Time{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return time.Time{}, fmt.Errorf("making a key: %w", err)
	}
	expires = a.now().Add(life).UTC()
	if last := a.certificate.NotAfter; expires.After(last) {
		expires = last
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name.Name}, URIs: []*url.URL{name.uri()},
		NotBefore: a.now().Add(-clockSkew), NotAfter: expires,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usageOf(name.Role)},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return time.Time{}, fmt.Errorf("making a certificate: %w", err)
	}
	return expires, writePair(certificateFile, keyFile, der, key)
}

// writePair writes the key, for its owner alone, and then the certificate. A reader between the two finds that they do not belong
// together, and reads again. The directory need not be there.
func writePair(certificateFile, keyFile string, der []byte, key *ecdsa.PrivateKey) error {
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding a key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(keyFile), 0o700); err != nil {
		return fmt.Errorf("making the directory of %s: %w", keyFile, err)
	}
	if err := replace(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return err
	}
	return replace(certificateFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

// replace puts a file in the place of another at once.
func replace(path string, data []byte, mode os.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(temp.Name()))
	}
	return nil
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }
