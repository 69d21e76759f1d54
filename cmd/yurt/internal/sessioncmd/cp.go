package sessioncmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionCpCommand(a *app) *cobra.Command {
	var condition copyCondition
	cmd := &cobra.Command{
		Use:   "cp SOURCE DESTINATION",
		Short: "Copy files to or from a session",
		Long: `Copy a file or a directory to a session, or from one.

One of the two is ID:PATH, a path below the session's workspace. In a destination that is a
directory, or that ends in a slash, the copy has the name of the source. A directory is copied
with all its files. "-" is standard input or output. Copies from a session leave out links that
lead out of the directory that is copied.

--json prints the ETag of a file, which changes with its content. With --if-match that ETag, a
file of the session is replaced only if it is still the same.`,
		Example: `  yurt session cp data.csv $id:
  yurt session cp src $id:project/
  yurt session cp $id:project/report.pdf .
  yurt session cp $id:log.txt - | tail`,
		Args:              arguments.Between(2, 2, "a source and a destination"),
		ValidArgsFunction: a.completeCopy,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.copyFiles(cmd.Context(), args[0], args[1], condition)
		},
	}
	cmd.Flags().StringVar(&condition.match, "if-match", "", "replace the file in the session only if this is its ETag")
	cmd.Flags().BoolVar(&condition.absent, "if-absent", false, "write the file in the session only if there is none")
	cmd.MarkFlagsMutuallyExclusive("if-match", "if-absent")
	return cmd
}

// copyCondition is of the file in the session that a copy replaces.
type copyCondition struct {
	match  string
	absent bool
}

func (c copyCondition) options() (options yurt.WriteOptions) {
	if c.match != "" {
		options.If.Match = []string{c.match}
	}
	if c.absent {
		options.If.NoneMatch = []string{"*"}
	}
	return options
}

// remotePath is ID:PATH.
type remotePath struct{ session, path string }

// parseRemotePath reads ID:PATH. Where prefix is given, ID begins with it.
func parseRemotePath(text, prefix string) (remotePath, bool) {
	id, name, ok := strings.Cut(text, ":")
	if !ok || !strings.HasPrefix(id, prefix) || !yurt.ValidID(yurt.SessionIDPrefix, cli.IDPrefix(id)) {
		return remotePath{}, false
	}
	return remotePath{id, name}, true
}

// findRemote tells which of the two paths is a session's, and returns it with its whole id.
// An id without "ses_" counts only where neither path has one.
func findRemote(ctx context.Context, client *yurtclient.Client, source, destination string) (of remotePath, fromSession bool, err error) {
	from, fromRemote := parseRemotePath(source, yurt.SessionIDPrefix)
	to, toRemote := parseRemotePath(destination, yurt.SessionIDPrefix)
	if !fromRemote && !toRemote {
		from, fromRemote = parseRemotePath(source, "")
		to, toRemote = parseRemotePath(destination, "")
	}
	if fromRemote == toRemote {
		return remotePath{}, false, yurt.Errorf(yurt.CodeInvalidArgument, "one of %s and %s has to be ID:PATH, of a session, and the other a path here", source, destination)
	}
	if fromRemote {
		to = from
	}
	to.session, err = findSession(ctx, client, to.session)
	return to, fromRemote, err
}

// completeCopy offers sessions with the colon that a path follows; the shell adds files.
func (a *app) completeCopy(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := a.Ask(cmd.Context(), cli.LiveSessions, begun)
	for i, name := range names {
		id, description, _ := strings.Cut(name, "\t")
		names[i] = cobra.CompletionWithDesc(id+":", description)
	}
	return names, cobra.ShellCompDirectiveNoSpace
}

// copied is the outcome of a copy.
type copied struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Entries     int    `json:"entries"`
	Bytes       int64  `json:"bytes"`
	LeftOut     int    `json:"left_out,omitempty"` // links that lead out
	ETag        string `json:"etag,omitempty"`     // of a file in the session
}

func (a *app) copyFiles(ctx context.Context, source, destination string, condition copyCondition) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	remote, fromSession, err := findRemote(ctx, client, source, destination)
	if err != nil {
		return err
	}
	progress := a.progress(ctx)
	defer progress.end()
	done := copied{Source: source, Destination: destination}
	switch {
	case fromSession && condition != (copyCondition{}):
		err = yurt.Errorf(yurt.CodeInvalidArgument, "--if-match and --if-absent are for a copy to a session; leave them out")
	case fromSession:
		err = a.download(ctx, client, remote, destination, progress, &done)
	default:
		err = a.upload(ctx, client, source, remote, condition.options(), progress, &done)
	}
	progress.end()
	if err != nil {
		return err
	}
	if done.LeftOut > 0 && !a.JSON {
		fmt.Fprintf(a.Stderr, "yurt: left out %d links that lead out of what was copied\n", done.LeftOut)
	}
	if a.JSON {
		return a.PrintJSON(done)
	}
	return nil
}

// upload copies a file or a directory of this machine into a session.
func (a *app) upload(ctx context.Context, client *yurtclient.Client, source string, to remotePath, options yurt.WriteOptions, progress *copyProgress, done *copied) error {
	if source == "-" {
		info, err := client.WriteFile(ctx, to.session, to.path, progress.reader(a.Stdin, 0), options)
		done.Entries, done.Bytes, done.ETag = 1, info.Size, info.ETag
		return err
	}
	stat, err := os.Stat(source)
	if err != nil {
		return cli.Unreadable(source, err)
	}
	if to.path, err = a.remoteDestination(ctx, client, to, filepath.Base(filepath.Clean(source))); err != nil {
		return err
	}
	if stat.IsDir() {
		if !options.If.IsZero() {
			return yurt.Errorf(yurt.CodeInvalidArgument, "%s is a directory; --if-match and --if-absent are for one file", source)
		}
		return a.uploadDir(ctx, client, source, to, progress, done)
	}
	file, err := os.Open(source)
	if err != nil {
		return cli.Unreadable(source, err)
	}
	defer file.Close()
	options.Mode = yurt.FileMode(stat.Mode().Perm())
	info, err := client.WriteFile(ctx, to.session, to.path, progress.reader(file, stat.Size()), options)
	done.Entries, done.Bytes, done.ETag = 1, info.Size, info.ETag
	return err
}

// remoteDestination returns where a source of a name goes: below the destination if that is a
// directory.
func (a *app) remoteDestination(ctx context.Context, client *yurtclient.Client, to remotePath, name string) (string, error) {
	if to.path == "" || strings.HasSuffix(to.path, "/") {
		return path.Join(to.path, name), nil
	}
	info, err := client.StatFile(ctx, to.session, to.path)
	switch {
	case yurt.CodeOf(err) == yurt.CodeFileNotFound:
		return to.path, nil
	case err != nil:
		return "", err
	case info.IsDir:
		return path.Join(to.path, name), nil
	}
	return to.path, nil
}

// download copies a file or a directory of a session to this machine.
func (a *app) download(ctx context.Context, client *yurtclient.Client, from remotePath, destination string, progress *copyProgress, done *copied) error {
	if from.path == "" {
		from.path = "."
	}
	info, err := client.StatFile(ctx, from.session, from.path)
	if err != nil {
		return err
	}
	if destination != "-" {
		if stat, err := os.Stat(destination); (err == nil && stat.IsDir()) || strings.HasSuffix(destination, "/") {
			destination = filepath.Join(destination, path.Base(path.Join(from.session, from.path)))
		}
	}
	if info.IsDir {
		return a.downloadDir(ctx, client, from, destination, progress, done)
	}
	content, info, err := client.GetFile(ctx, from.session, from.path)
	if err != nil {
		return err
	}
	defer content.Close()
	done.Entries, done.ETag = 1, info.ETag
	if destination == "-" {
		done.Bytes, err = io.Copy(a.Stdout, progress.reader(content, info.Size))
		return err
	}
	done.Bytes, err = saveFile(destination, progress.reader(content, info.Size), 0o644)
	return err
}

// saveFile writes a file of this machine, whole or not at all.
func saveFile(name string, content io.Reader, mode fs.FileMode) (n int64, err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return 0, unwritable(name, err)
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".yurt-*")
	if err != nil {
		return 0, unwritable(name, err)
	}
	defer os.Remove(file.Name()) // if it is still there
	n, err = io.Copy(file, content)
	err = errors.Join(err, file.Chmod(mode), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return n, unwritable(name, err)
	}
	return n, nil
}

func unwritable(name string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return yurt.Errorf(yurt.CodeInvalidArgument, "%s cannot be written: %w", name, err)
}

// copyProgress is a bar on a terminal, and invisible elsewhere.
type copyProgress struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

func (a *app) progress(ctx context.Context) *copyProgress {
	if a.JSON || !a.Told().Terminal {
		return &copyProgress{}
	}
	return &copyProgress{bars: mpb.NewWithContext(ctx, mpb.WithOutput(a.Stderr), mpb.WithWidth(40))}
}

// reader shows how much of size is read; 0 is not known.
func (p *copyProgress) reader(from io.Reader, size int64) io.Reader {
	if p.bars == nil {
		return from
	}
	p.bar = p.bars.AddBar(size, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.CountersKibiByte("% .1f / % .1f")),
		mpb.AppendDecorators(decor.AverageSpeed(decor.SizeB1024(0), "% .1f")))
	return struct{ io.Reader }{p.bar.ProxyReader(from)}
}

// end takes the bar away.
func (p *copyProgress) end() {
	if p.bars == nil {
		return
	}
	if p.bar != nil {
		p.bar.Abort(true)
	}
	p.bars.Wait()
	p.bars = nil
}
