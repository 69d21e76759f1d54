//go:build linux && cgo && seccomp

package libcontainer

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestLookupChangesNothing: the bisecting filter decides every call of every architecture that a process may try like
// the plain list, for all arguments. The tested arguments are the numbers that the list compares with, and their
// neighbours.
func TestLookupChangesNothing(t *testing.T) {
	plain, tree := compiled(t, sequence), compiled(t, binaryTree)
	if len(tree) == len(plain) {
		t.Fatal("libseccomp made no tree")
	}
	one, other := machine(t, plain), machine(t, tree)
	values := compared(plain)
	for call := range uint32(600) {
		compare(t, one, other, nativeArch, call, values)
		compare(t, one, other, nativeArch, 0x40000000|call, values[:1]) // x32
		for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
			compare(t, one, other, arch, call, values[:1])
		}
	}
}

// compare looks at the call with each value in each half of each of its arguments, in turn.
func compare(t *testing.T, one, other *bpf.VM, arch, call uint32, values []uint32) {
	t.Helper()
	const words = 12 // six arguments of 64 bits
	for word := range words {
		for _, value := range values {
			var data [64]byte // struct seccomp_data, in the byte order that the machine reads
			binary.BigEndian.PutUint32(data[0:], call)
			binary.BigEndian.PutUint32(data[4:], arch)
			binary.BigEndian.PutUint32(data[16+4*word:], value)
			want, err := one.Run(data[:])
			if err != nil {
				t.Fatal(err)
			}
			if got, err := other.Run(data[:]); err != nil || got != want {
				t.Errorf("call %d of architecture %#x with %#x in word %d: %#x, %v; want %#x", call, arch, value, word, got, err, want)
			}
		}
	}
}

func compiled(t *testing.T, lookup int) []bpf.RawInstruction { return instructions(t, lookup, nil) }

func instructions(t *testing.T, lookup int, groups []string) []bpf.RawInstruction {
	t.Helper()
	program, err := compileFilterAs(lookup, groups)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]bpf.RawInstruction, 0, len(program)/8)
	for raw := range slices.Chunk(program, 8) {
		list = append(list, bpf.RawInstruction{Op: binary.NativeEndian.Uint16(raw), Jt: raw[2], Jf: raw[3], K: binary.NativeEndian.Uint32(raw[4:])})
	}
	return list
}

func machine(t *testing.T, program []bpf.RawInstruction) *bpf.VM {
	t.Helper()
	list, ok := bpf.Disassemble(program)
	if !ok {
		t.Fatal("the filter has instructions that are none")
	}
	vm, err := bpf.NewVM(list)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// compared are the values that the program compares with, and those beside them.
func compared(program []bpf.RawInstruction) []uint32 {
	values := []uint32{0, 1, 1 << 31, 1<<32 - 1}
	for _, i := range program {
		if i.Op&0x07 == 0x05 { // a jump
			values = append(values, i.K-1, i.K, i.K+1)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
