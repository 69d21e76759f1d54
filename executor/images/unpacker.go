package images

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/trees"
	"github.com/yurtrun/yurt/internal/linux/power"
)

// Starter starts the unpacker without power over this host.
type Starter interface {
	// StartUnpacker starts it for an image that is being made, by the name of the image's directory in the store. It may write to the directory
	// "tree" there alone. Its files are bounded, and have the owner of the store when it has ended. It fails if it leaves anything but plain files, directories and links.
	StartUnpacker(image string, fileBytes int64) (confine.Piped, error)
}

// UnpackProgram is the name of the program that calls [Unpack].
const UnpackProgram = confine.Unpacker

// maxAnswer and maxWords bound the output of the unpacker.
const (
	maxAnswer = 64 << 10
	maxWords  = 4 << 10
)

// unpack puts the layers, which are files named by their number in blobs, on top of each other in an empty directory, and removes them.
func (s *Store) unpack(ctx context.Context, r reference, blobs, dir string, order unpackOrder) (trees.Made, error) {
	source := &blobReader{dir: blobs, count: len(order.Layers)}
	defer source.close()
	if s.config.Programs == nil {
		if power.Held() {
			return trees.Made{}, yurt.FieldErrorf(yurt.CodeUnavailable, field, "image %s is not unpacked: this node has power over its host, and no way to unpack without it", r.text)
		}
		answer := order.carryOut(ctx, source, dir)
		return answer.made(ctx, r, len(order.Layers))
	}
	answer, err := s.unpackConfined(ctx, source, dir, order)
	if err != nil {
		return trees.Made{}, explain(r, err)
	}
	if made, err := answer.made(ctx, r, len(order.Layers)); err != nil {
		return made, err
	}
	made, err := count(dir)
	if err != nil {
		return made, refuse(r, err)
	}
	return made, nil
}

// unpackConfined has the unpacker do it, in a process of its own, and returns its answer, which is worth no more than the process.
func (s *Store) unpackConfined(ctx context.Context, source io.Reader, dir string, order unpackOrder) (unpackAnswer, error) {
	head, err := json.Marshal(order)
	if err != nil {
		return unpackAnswer{}, err
	}
	program, err := s.config.Programs.StartUnpacker(filepath.Base(filepath.Dir(dir)), order.Bytes)
	if err != nil {
		return unpackAnswer{}, err
	}
	unhook := context.AfterFunc(ctx, program.Kill)
	defer unhook()
	out, words := &limitedBuffer{most: maxAnswer}, &limitedBuffer{most: maxWords}
	if err := converse(program, io.MultiReader(bytes.NewReader(append(head, '\n')), source), out, words); err != nil {
		return unpackAnswer{}, errors.Join(ctx.Err(), fmt.Errorf("the unpacker failed: %w; its last words: %.200q", err, printable(words.String())))
	}
	var answer unpackAnswer
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return unpackAnswer{}, fmt.Errorf("reading the unpacker's answer: %w", err)
	}
	return answer, nil
}

// converse writes the input of a program, and keeps its output, until it has ended.
func converse(program confine.Piped, in io.Reader, out, words io.Writer) error {
	var fed error
	var streams sync.WaitGroup
	streams.Go(func() {
		if _, err := io.Copy(program.Stdin, in); !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) { // an unpacker may fail early
			fed = err
		}
		program.Stdin.Close()
	})
	streams.Go(func() { _, _ = io.Copy(out, program.Stdout) })   // ends when the program does, however it does
	streams.Go(func() { _, _ = io.Copy(words, program.Stderr) }) // likewise
	err := program.Wait()
	program.Stdin.Close()
	streams.Wait()
	program.Stdout.Close()
	program.Stderr.Close()
	return errors.Join(err, fed)
}

// limitedBuffer keeps the first bytes that are written to it, and takes all.
type limitedBuffer struct {
	bytes.Buffer

	most int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.most-b.Len()))])
	return len(p), nil
}

// blobReader reads the layers one after the other, and removes each when it has been read: no more room is taken than is needed.
type blobReader struct {
	dir         string
	next, count int
	open        *os.File
}

func (b *blobReader) Read(p []byte) (int, error) {
	for {
		if b.open == nil {
			if b.next == b.count {
				return 0, io.EOF
			}
			file, err := os.Open(filepath.Join(b.dir, strconv.Itoa(b.next)))
			if err != nil {
				return 0, err
			}
			b.open = file
			b.next++
		}
		n, err := b.open.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		name := b.open.Name()
		b.close()
		if err := os.Remove(name); err != nil {
			return 0, err
		}
	}
}

func (b *blobReader) close() {
	if b.open != nil {
		b.open.Close()
		b.open = nil
	}
}

// count counts the files of an unpacked tree, which no process writes to any more: an unpacker that was taken over may have told other numbers.
func count(dir string) (trees.Made, error) {
	var made trees.Made
	seen := make(map[uint64]bool) // files with several names
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		made.Entries++
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() && !seen[stat.Ino] {
			made.Bytes += info.Size()
			if stat.Nlink > 1 {
				seen[stat.Ino] = true
			}
		}
		return nil
	})
	return made, err
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
