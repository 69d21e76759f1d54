package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// KeyPrefix begins each API key, so that programs that search for leaked secrets find them.
const KeyPrefix = "yurt_"

const (
	keyBytes = 32 // of randomness in a key
	keyChars = 52 // which base32 writes for them
	redacted = "(secret)"
)

// Secret is text that neither fmt nor encoding/json nor log/slog writes. [Secret.Reveal] returns it. The text is behind a pointer,
// since fmt asks no method of a field that is not exported.
type Secret struct{ text *string }

// NewSecret makes a secret of text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text, for its one reader.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format implements fmt.Formatter, for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// Hash is the SHA-256 of an API key, which a store keeps in place of the key.
type Hash [sha256.Size]byte

// Equal compares two hashes in a time that does not depend on them.
func (h Hash) Equal(other Hash) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

// GenerateKey returns a fresh API key: 256 random bits in lower-case base32.
func GenerateKey() Secret { return generate(KeyPrefix) }

func generate(prefix string) Secret {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // it never fails: the process would end
	return NewSecret(prefix + strings.ToLower(keyEncoding().EncodeToString(random)))
}

func keyEncoding() *base32.Encoding { return base32.StdEncoding.WithPadding(base32.NoPadding) }

// HashKey returns the hash of an API key or a session token that a client sent; ok is false for text that is no key.
func HashKey(key string) (_ Hash, ok bool) {
	rest, ok := strings.CutPrefix(key, KeyPrefix)
	rest = strings.TrimPrefix(rest, strings.TrimPrefix(TokenPrefix, KeyPrefix))
	if !ok || len(rest) != keyChars {
		return Hash{}, false
	}
	return sha256.Sum256([]byte(key)), true
}
