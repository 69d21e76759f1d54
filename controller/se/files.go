package se

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	maxPath     = 4096        // bytes of the path in a form
	uploadStall = time.Minute // how long an upload may pause
)

type uploadData struct {
	Filename string `json:"filename"`
	Path     string `json:"path"`
	Size     int64  `json:"size"`
}

// upload writes the file of a form. Its content is streamed.
func (a *API) upload(w http.ResponseWriter, r *http.Request) {
	conn := http.NewResponseController(w)
	r.Body = &patientBody{r.Body, conn}
	data, err := a.receive(r)
	// The deadline is taken back: left in force it would end the connection. Where no deadline can
	// be set, as in a test without a connection, there is no connection to end.
	_ = conn.SetReadDeadline(time.Time{})
	a.write(w, r, data, err)
}

// patientBody gives up on a client that pauses for too long.
type patientBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.conn.SetReadDeadline(time.Now().Add(uploadStall))
	return b.ReadCloser.Read(p)
}

// receive reads the parts of a form. A file that comes before its path is written under a name of its own
// and moved then.
func (a *API) receive(r *http.Request) (any, error) {
	session, err := a.sessionOf(r)
	if err != nil {
		return nil, err
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeMalformedBody, "Content-Type", "the body is no form; send multipart/form-data with a part named file")
	}
	upload := upload{api: a, session: session.ID}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return upload.finish(r.Context())
		}
		if err != nil {
			err = yurt.Errorf(yurt.CodeMalformedBody, "the form did not arrive whole")
		} else {
			err = upload.take(r.Context(), part)
		}
		if err != nil {
			upload.undo(r.Context())
			return nil, err
		}
	}
}

// upload is a file on its way to a session.
type upload struct {
	api     *API
	session string
	target  string // path of the form
	name    string // of the file, as the client has it
	written string // path that the content is at; empty before it is there
}

func (u *upload) take(ctx context.Context, part *multipart.Part) error {
	switch part.FormName() {
	case "path":
		text, err := io.ReadAll(io.LimitReader(part, maxPath+1))
		if err != nil || len(text) > maxPath {
			return yurt.FieldErrorf(yurt.CodeInvalidPath, "path", "the path is longer than %d bytes, or did not arrive whole", maxPath)
		}
		u.target = string(text)
	case "file":
		if u.written != "" {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "file", "the form has two parts named file; send one a request")
		}
		u.name = part.FileName()
		u.written = ".upload-" + strings.ToLower(rand.Text())
		if _, err := u.api.config.Files.WriteFile(ctx, u.session, u.written, part, yurt.WriteOptions{}); err != nil {
			u.written = "" // a write that fails leaves no file
			if yurt.CodeOf(err) == yurt.CodeInternal {
				return yurt.FieldErrorf(yurt.CodeMalformedBody, "file", "the file did not arrive whole; an older one is as it was")
			}
			return err
		}
	}
	return nil
}

// finish moves the file to where the form says, or to the workspace under its own name.
func (u *upload) finish(ctx context.Context) (any, error) {
	if u.written == "" {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "file", "the form has no part named file; add one with the content")
	}
	name := u.target
	if name == "" || strings.HasSuffix(name, "/") {
		name += u.name
	}
	name, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		u.undo(ctx)
		return nil, err
	}
	info, err := u.api.config.Files.MoveFile(ctx, u.session, u.written, name, true)
	if err != nil {
		u.undo(ctx)
		return nil, err
	}
	return uploadData{Filename: path.Base(info.Path), Path: yurt.WorkspaceDir + "/" + info.Path, Size: info.Size}, nil
}

// undo removes the file that was written.
func (u *upload) undo(ctx context.Context) {
	if u.written == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), uploadStall)
	defer cancel()
	if err := u.api.config.Files.RemoveFile(ctx, u.session, u.written, false); err != nil {
		u.api.log.WarnContext(ctx, "an upload that failed left a file", "session", u.session, "path", u.written, "error", err)
	}
}

// download answers with a file.
func (a *API) download(w http.ResponseWriter, r *http.Request) {
	session, err := a.sessionOf(r)
	if err != nil {
		a.write(w, r, nil, err)
		return
	}
	content, info, err := a.config.Files.ReadFile(r.Context(), session.ID, r.PathValue("filename"), yurt.Span{})
	if err != nil {
		a.write(w, r, nil, err)
		return
	}
	defer content.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment") // never shown as a page of this origin
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size, 10))
	// The length is promised: a file that shrinks meanwhile breaks the connection, which tells the client.
	if _, err := io.CopyN(w, content, info.Size); err != nil {
		a.log.WarnContext(r.Context(), "sending a file", "session", session.ID, "error", err)
	}
}

type (
	filesData struct {
		Files []fileData `json:"files"`
		More  bool       `json:"more,omitempty"` // there are more than an answer holds
	}
	fileData struct {
		Name     string    `json:"name"`
		Size     int64     `json:"size"`
		Modified time.Time `json:"modified"`
	}
)

// listFiles lists the files of a session.
func (a *API) listFiles(r *http.Request) (any, error) {
	session, err := a.sessionOf(r)
	if err != nil {
		return nil, err
	}
	list, err := a.config.Files.ListFiles(r.Context(), session.ID, "", yurt.ListOptions{Depth: yurt.MaxFileDepth, Limit: yurt.MaxListFiles})
	if err != nil {
		return nil, err
	}
	data := filesData{Files: []fileData{}, More: list.More}
	for _, info := range list.Files {
		if !info.IsDir {
			data.Files = append(data.Files, fileData{Name: info.Path, Size: info.Size, Modified: info.ModTime})
		}
	}
	return data, nil
}
