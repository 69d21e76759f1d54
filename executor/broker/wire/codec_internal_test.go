package wire

import (
	"testing"

	"github.com/yurtrun/yurt/internal/linux/packet"
)

// BenchmarkMessage writes and reads a request and its answer, without the socket, in the two ways in which that can be done.
func BenchmarkMessage(b *testing.B) {
	args, err := packet.Encode(&newRun{Sandbox: "sbx_pk32uzocoo3dovqyusf6qdnf2s", Run: "exe_pk32uzocoo3dovqyusf6qdnf2s", Ahead: true})
	if err != nil {
		b.Fatal(err)
	}
	request, reply := message{ID: 77, Kind: kindNewRun, Args: args}, answer{ID: 77, Value: []byte(`{"births":3}`)}
	b.Run("by hand", func(b *testing.B) {
		for b.Loop() {
			if _, err := decodeMessage(request.encode()); err != nil {
				b.Fatal(err)
			}
			data, err := reply.encode()
			if err == nil {
				_, err = decodeAnswer(data)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by package json", func(b *testing.B) {
		for b.Loop() {
			var m message
			var a answer
			data, err := packet.Encode(request)
			if err == nil {
				err = packet.Decode(data, &m)
			}
			if err == nil {
				data, err = packet.Encode(reply)
			}
			if err == nil {
				err = packet.Decode(data, &a)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
