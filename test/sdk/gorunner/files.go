package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// filing are the arguments of steps about files.
type filing struct {
	Path   string  `json:"path"`
	Text   *string `json:"text"`
	Base64 []byte  `json:"base64"`
	Bytes  bool    `json:"bytes"`
	Append bool    `json:"append"`
	MiB    int64   `json:"mib"`
	Offset int64   `json:"offset"`
	Length int64   `json:"length"`
}

func writeFile(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with filing
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	if with.Text != nil {
		with.Base64 = []byte(*with.Text)
	}
	write := box.Files.Write
	if with.Append {
		write = box.Files.Append
	}
	info, err := write(ctx, with.Path, with.Base64)
	return object{"size": info.Size}, err
}

func readFile(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with filing
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	if with.Bytes {
		data, err := box.Files.ReadPart(ctx, with.Path, yurt.Span{Offset: with.Offset, Length: with.Length})
		return object{"base64": data}, err
	}
	text, err := box.Files.ReadText(ctx, with.Path)
	return object{"text": text}, err
}

func listFiles(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with filing
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	var paths []string
	for file, err := range box.Files.List(ctx, with.Path, 1) {
		if err != nil {
			return nil, err
		}
		paths = append(paths, file.Path)
	}
	return object{"count": len(paths), "paths": paths}, nil
}

// endless reads as the bytes 0 to 255 in turn.
type endless struct{ next byte }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.next
		e.next++
	}
	return len(p), nil
}

func upload(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with filing
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	var told int64
	before := peakMiB()
	info, err := box.Files.Upload(ctx, io.LimitReader(new(endless), with.MiB<<20), with.Path, func(done, _ int64) { told = done })
	return object{"size": info.Size, "progressed": told == info.Size, "grown_mib": peakMiB() - before}, err
}

func download(ctx context.Context, box *yurtclient.Sandbox, s *step) (_ any, err error) {
	var with filing
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "scenario-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var told int64
	before, target := peakMiB(), filepath.Join(dir, "file")
	size, err := box.Files.Download(ctx, with.Path, target, func(done, _ int64) { told = done })
	if err != nil {
		return nil, err
	}
	grown := peakMiB() - before
	file, err := os.Open(target)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return nil, err
	}
	return object{"size": size, "sha256": hex.EncodeToString(digest.Sum(nil)), "progressed": told == size, "grown_mib": grown}, nil
}

// peakMiB returns the most memory that this process ever had.
func peakMiB() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return -1
	}
	return usage.Maxrss >> 10
}
