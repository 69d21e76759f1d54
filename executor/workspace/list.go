package workspace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
)

// List returns a part of the entries below the directory at name, by name, each directory before its entries. The options bound
// its use of memory for directories of any size.
func (d *Dir) List(ctx context.Context, name string, options yurt.ListOptions) (yurt.FileList, error) {
	if err := options.Validate(); err != nil {
		return yurt.FileList{}, err
	}
	name, err := yurt.CleanWorkspaceDir("path", name)
	if err != nil {
		return yurt.FileList{}, err
	}
	after, err := afterIn(name, options.After)
	if err != nil {
		return yurt.FileList{}, err
	}
	top, err := d.openTop(name)
	if err != nil {
		return yurt.FileList{}, explain(name, err)
	}
	defer top.Close()
	l := lister{Dir: d, limit: options.Limit}
	err = l.list(ctx, top, name, after, options.Depth)
	if err != nil && !errors.Is(err, errFull) {
		return yurt.FileList{}, explainUnless(name, err)
	}
	return yurt.FileList{Files: l.files, More: err != nil}, nil
}

// afterIn returns the components below the directory of the path that a list goes on
// after.
func afterIn(dir, after string) ([]string, error) {
	if after == "" {
		return nil, nil
	}
	below := after
	if dir != "." {
		var ok bool
		if below, ok = strings.CutPrefix(after, dir+"/"); !ok {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "after", "%q is not in %s; give a path that the list gave", after, dir)
		}
	}
	return strings.Split(below, "/"), nil
}

// lister makes one list.
type lister struct {
	*Dir
	limit int
	files []yurt.FileInfo
}

// errFull ends a list that has as many entries as it may.
var errFull = errors.New("the list is full")

// list adds the entries below a directory that come after the given components.
func (l *lister) list(ctx context.Context, dir *os.File, below string, after []string, depth int) error {
	// One that does not fit says that there is more, and one may have been seen.
	names, err := first(ctx, dir, after, l.limit-len(l.files)+2)
	if err != nil {
		return err
	}
	for _, name := range names {
		var rest []string
		seen := len(after) > 0 && name.text == after[0]
		if seen {
			rest = after[1:]
		}
		if err := l.add(ctx, dir, name.raw, path.Join(below, name.raw), seen, rest, depth); err != nil {
			return err
		}
	}
	return nil
}

// add adds one entry, unless an earlier list had it, and the entries below it.
func (l *lister) add(ctx context.Context, in *os.File, name, pathname string, seen bool, after []string, depth int) error {
	var (
		e   entry
		sub *os.File
	)
	err := l.as(func() (err error) {
		if e, err = statEntry(in, name, pathname); err == nil && e.info.IsDir && depth > 1 {
			// One that cannot be opened is listed, and that is all that can be said of it.
			sub, _ = openDir(in, name)
		}
		return err
	})
	if err != nil {
		return nil //nolint:nilerr // it is gone
	}
	if sub != nil {
		defer sub.Close()
	}
	if !seen {
		if len(l.files) == l.limit {
			return errFull
		}
		e.info.Target = valid(e.info.Target)
		l.files = append(l.files, e.info)
	}
	if sub == nil {
		return nil
	}
	return l.list(ctx, sub, pathname, after, depth-1)
}

// dirName is a name in a directory: as it is, and as it is shown.
type dirName struct{ raw, text string }

// first returns the first names in a directory, in order, from the component on that
// a list goes on after.
func first(ctx context.Context, dir *os.File, after []string, count int) ([]dirName, error) {
	var names []dirName
	keep := func() {
		slices.SortFunc(names, func(a, b dirName) int { return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.raw, b.raw)) })
		names = slices.Delete(names, min(count, len(names)), len(names))
	}
	for {
		some, err := dir.Readdirnames(batch)
		for _, raw := range some {
			if name := (dirName{raw, valid(raw)}); len(after) == 0 || name.text >= after[0] {
				names = append(names, name)
			}
		}
		if len(names) > 2*count+batch {
			keep()
		}
		switch {
		case errors.Is(err, io.EOF):
			keep()
			return names, nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}
