package images

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/trees"
)

// unpackOrder is the order to the unpacker. The layers follow.
type unpackOrder struct {
	Bytes   int64   `json:"bytes"`   // of files, at most
	Entries int     `json:"entries"` // of all layers, at most
	Layers  []int64 `json:"layers"`  // the size of each, as it comes
}

// unpackAnswer says how it went.
type unpackAnswer struct {
	Bytes   int64     `json:"bytes"`
	Entries int       `json:"entries"`
	Layer   int       `json:"layer"` // at which it failed; beyond the last one: afterwards
	Code    yurt.Code `json:"code,omitempty"`
	Message string    `json:"message,omitempty"`
}

// made returns the counts of the unpacked tree, or the reason why it is missing.
func (a unpackAnswer) made(ctx context.Context, r reference, count int) (trees.Made, error) {
	if a.Code == "" {
		return trees.Made{Bytes: a.Bytes, Entries: a.Entries}, nil
	}
	if !slices.Contains([]yurt.Code{yurt.CodeArchiveInvalid, yurt.CodeLimitOutOfRange, yurt.CodeUnavailable, yurt.CodeDiskFull}, a.Code) {
		a.Code = yurt.CodeInternal
	}
	err := yurt.Errorf(a.Code, "%.1000s", printable(a.Message))
	if a.Layer < 0 || a.Layer >= count {
		return trees.Made{}, refuse(r, err)
	}
	return trees.Made{}, refuseLayer(ctx, r, a.Layer, err)
}

// carryOut unpacks the layers into a directory.
func (o unpackOrder) carryOut(ctx context.Context, source io.Reader, dir string) unpackAnswer {
	left := room{bytes: o.Bytes, entries: o.Entries}
	failed := func(layer int, err error) unpackAnswer {
		return unpackAnswer{Layer: layer, Code: yurt.CodeOf(err), Message: err.Error()}
	}
	t, err := openTree(dir)
	if err != nil {
		return failed(len(o.Layers), err)
	}
	defer t.close()
	for i, size := range o.Layers {
		layer := io.LimitReader(source, size)
		if err := t.apply(ctx, layer, &left); err != nil {
			return failed(i, err)
		}
		if _, err := io.Copy(io.Discard, layer); err != nil { // after the end of the archive
			return failed(i, err)
		}
	}
	if err := t.settle(); err != nil {
		return failed(len(o.Layers), err)
	}
	return unpackAnswer{Bytes: left.made, Entries: o.Entries - left.entries}
}

// maxOrder bounds the order, in bytes.
const maxOrder = 1 << 20

// Unpack is the program that unpacks images: it reads an order and the layers from in, unpacks them into the directory, and writes how it went to out.
func Unpack(ctx context.Context, in io.Reader, out io.Writer, dir string) error {
	buffered := bufio.NewReaderSize(in, maxOrder)
	head, err := buffered.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("reading the order: %w", err)
	}
	var order unpackOrder
	if err := json.Unmarshal(head, &order); err != nil {
		return fmt.Errorf("reading the order: %w", err)
	}
	return json.NewEncoder(out).Encode(order.carryOut(ctx, buffered, dir))
}
