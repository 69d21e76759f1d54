package cli

import (
	"archive/tar"
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"
)

// ThroughArchive has an archive read while it is made.
func ThroughArchive(ctx context.Context, pack func(*tar.Writer) error, unpack func(context.Context, io.Reader) error) error {
	reader, writer := io.Pipe()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		archive := tar.NewWriter(writer)
		err := pack(archive)
		if err == nil {
			err = archive.Close()
		}
		writer.CloseWithError(err)
		if errors.Is(err, io.ErrClosedPipe) {
			return nil // the reader of the archive reports the cause
		}
		return err
	})
	group.Go(func() error {
		err := unpack(ctx, reader)
		reader.CloseWithError(io.ErrClosedPipe)
		return err
	})
	return group.Wait()
}
