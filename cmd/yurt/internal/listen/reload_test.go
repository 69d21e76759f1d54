package listen

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// writePair writes a certificate of a serial number, signed by its own key, and that key.
func writePair(t *testing.T, f Flags, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{f.Certificate: {Type: "CERTIFICATE", Bytes: signed}, f.Key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificateIsReadAgain replaces the files of the certificate under load: new connections see the new one, no request fails, and
// files that cannot be used leave the certificate as it is.
func TestCertificateIsReadAgain(t *testing.T) {
	f := Flags{Address: "127.0.0.1:0", Certificate: filepath.Join(t.TempDir(), "cert.pem"), Key: filepath.Join(t.TempDir(), "key.pem")}
	writePair(t, f, 1)
	listener, err := f.Open(t.Context(), f.Bind)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	serial := func(ctx context.Context) int64 {
		client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test looks at the serial number
		}}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+listener.Addr().String(), nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		resp, err := client.Do(req)
		if err != nil {
			if ctx.Err() == nil {
				t.Error("a request while the certificate changes:", err)
			}
			return 0
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(t.Context()); got != 1 {
		t.Fatalf("the first certificate has the number %d", got)
	}
	load, stop := context.WithCancel(t.Context())
	var loading sync.WaitGroup
	for range 4 {
		loading.Go(func() {
			for load.Err() == nil {
				serial(load)
			}
		})
	}
	await := func(want int64) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); serial(t.Context()) != want; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the certificate %d is not used", want)
			}
		}
	}
	writePair(t, f, 2)
	await(2)
	if err := os.WriteFile(f.Certificate, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * checkPeriod)
	await(2)
	writePair(t, f, 3)
	await(3)
	stop()
	loading.Wait()
}
