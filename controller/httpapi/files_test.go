package httpapi_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func TestRanges(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "shell-basic") + "/files/"
	s.do(t, "PUT", path+"f", "0123456789", "Content-Type", "application/octet-stream")
	s.do(t, "PUT", path+"empty", "", "Content-Type", "application/octet-stream")
	for header, want := range map[string]struct {
		status     int
		body, part string
	}{
		"bytes=0-3":                   {206, "0123", "bytes 0-3/10"},
		"bytes=4-":                    {206, "456789", "bytes 4-9/10"},
		"bytes=0-":                    {206, "0123456789", "bytes 0-9/10"},
		"bytes=-3":                    {206, "789", "bytes 7-9/10"},
		"bytes=-30":                   {206, "0123456789", "bytes 0-9/10"},
		"bytes=8-300":                 {206, "89", "bytes 8-9/10"},
		"bytes=0-9223372036854775807": {206, "0123456789", "bytes 0-9/10"},
		// A header that is not one range is ignored.
		"bytes=3-1":                   {200, "0123456789", ""},
		"bytes=0-1,4-5":               {200, "0123456789", ""},
		"lines=0-1":                   {200, "0123456789", ""},
		"bytes=x-y":                   {200, "0123456789", ""},
		"bytes=":                      {200, "0123456789", ""},
		"bytes=99999999999999999999-": {200, "0123456789", ""},
		"bytes=--3":                   {200, "0123456789", ""},
	} {
		a := s.do(t, "GET", path+"f", "", "Range", header)
		if a.status != want.status || a.body != want.body || a.header.Get("Content-Range") != want.part || a.header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("%s: %d %q %q, want %+v", header, a.status, a.body, a.header.Get("Content-Range"), want)
		}
	}
	for _, header := range []string{"bytes=10-", "bytes=10-12", "bytes=-0", "bytes=9223372036854775807-"} {
		wantProblem(t, s.do(t, "GET", path+"f", "", "Range", header), yurt.CodeRangeNotSatisfiable, "range")
	}
	if a := s.do(t, "GET", path+"f", "", "Range", "bytes=0-3", "If-Range", "x"); a.status != 200 || a.body != "0123456789" {
		t.Errorf("If-Range: %d %q", a.status, a.body)
	}
	if a := s.do(t, "GET", path+"empty", ""); a.status != 200 || a.body != "" {
		t.Errorf("an empty file: %d %q", a.status, a.body)
	}
	wantProblem(t, s.do(t, "GET", path+"empty", "", "Range", "bytes=0-"), yurt.CodeRangeNotSatisfiable, "range")
	if a := s.do(t, "HEAD", path+"f", "", "Range", "bytes=2-3"); a.status != 206 || a.header.Get("Content-Length") != "2" {
		t.Errorf("HEAD of a range: %d, length %s", a.status, a.header.Get("Content-Length"))
	}
}

func TestChangingFiles(t *testing.T) {
	s := newServer(t)
	session := "/api/v1/sessions/" + s.session(t, "shell-basic")
	path := session + "/files/"
	var info yurt.FileInfo
	s.do(t, "PUT", path+"bin/tool?mode=755", "a", "Content-Type", "application/octet-stream").decode(t, &info)
	if info.Mode != 0o755 || info.Type != yurt.FileRegular {
		t.Errorf("written: %+v", info)
	}
	s.do(t, "PUT", path+"bin/tool?append=true", "bc", "Content-Type", "application/octet-stream").decode(t, &info)
	if a := s.do(t, "GET", path+"bin/tool", ""); a.body != "abc" || info.Size != 3 || info.Mode != 0o755 {
		t.Errorf("added to: %+v, %q", info, a.body)
	}
	a := s.do(t, "PATCH", path+"bin/tool", `{"mode": "0644", "path": "bin/other"}`)
	if a.decode(t, &info); a.status != 200 || info.Path != "bin/other" || info.Mode != 0o644 || !strings.Contains(a.body, `"mode":"0644"`) {
		t.Errorf("changed: %d %s", a.status, a.body)
	}
	s.do(t, "PUT", path+"bin/tool", "new", "Content-Type", "application/octet-stream")
	wantProblem(t, s.do(t, "PATCH", path+"bin/tool", `{"path": "bin/other"}`), yurt.CodeFileExists, "to")
	if a := s.do(t, "PATCH", path+"bin/tool", `{"path": "bin/other", "overwrite": true}`); a.status != 200 {
		t.Errorf("replaced: %d %s", a.status, a.body)
	}
	if a := s.do(t, "PUT", path+"dir?directory=true&mode=700", ""); a.status != 201 || !strings.Contains(a.body, `"type":"directory"`) {
		t.Errorf("made: %d %s", a.status, a.body)
	}
	wantProblem(t, s.do(t, "DELETE", path+"none", ""), yurt.CodeFileNotFound, "path")
	s.do(t, "PUT", path+"dir/f", "x", "Content-Type", "application/octet-stream")
	wantProblem(t, s.do(t, "DELETE", path+"dir", ""), yurt.CodeFileExists, "path")
	if a := s.do(t, "DELETE", path+"dir?recursive=true", ""); a.status != 204 || a.body != "" {
		t.Errorf("removed: %d %s", a.status, a.body)
	}
	for _, test := range []struct {
		method, path, body string
		code               yurt.Code
		field              string
	}{
		{"PATCH", path + "bin/other", `{}`, yurt.CodeInvalidArgument, ""},
		{"PATCH", path + "bin/other", `{"mode": "rw-r--r--"}`, yurt.CodeInvalidArgument, "mode"},
		{"PATCH", path + "bin/other", `{"mode": "7777"}`, yurt.CodeInvalidArgument, "mode"},
		{"PATCH", path + "bin/other", `{"mode": 644}`, yurt.CodeInvalidArgument, "mode"},
		{"PATCH", path + "bin/other", `{"path": "../x"}`, yurt.CodePathOutsideWorkspace, "to"},
		{"PATCH", path + "bin/other", `{"paht": "x"}`, yurt.CodeUnknownField, "paht"},
		{"PUT", path + "x?mode=888", `x`, yurt.CodeInvalidArgument, "mode"},
		{"DELETE", path + "..", ``, yurt.CodePathOutsideWorkspace, "path"},
		{"DELETE", path + ".", ``, yurt.CodeNotAFile, "path"},
		{"GET", session + "/files?list=../x", ``, yurt.CodePathOutsideWorkspace, "list"},
		{"GET", session + "/files?stat=/etc", ``, yurt.CodePathOutsideWorkspace, "path"},
		{"GET", session + "/files?stat=none", ``, yurt.CodeFileNotFound, "path"},
		{"GET", session + "/files?depth=0", ``, yurt.CodeLimitOutOfRange, "depth"},
		{"GET", session + "/files?limit=1001", ``, yurt.CodeLimitOutOfRange, "limit"},
		{"GET", session + "/files?cursor=%21", ``, yurt.CodeInvalidArgument, "cursor"},
		{"GET", session + "/watch?path=../x", ``, yurt.CodePathOutsideWorkspace, "path"},
		{"POST", session + "/files/archive", `{"path": "none"}`, yurt.CodeFileNotFound, "path"},
		{"POST", session + "/files/archive", `{"path": "../x"}`, yurt.CodePathOutsideWorkspace, "path"},
		{"POST", session + "/files/archive", `{"dir": "x"}`, yurt.CodeUnknownField, "dir"},
		{"POST", session + "/files/archive", `nonsense`, yurt.CodeMalformedBody, ""},
	} {
		wantProblem(t, s.do(t, test.method, test.path, test.body), test.code, test.field)
	}
}

func TestListingFiles(t *testing.T) {
	s := newServer(t)
	session := "/api/v1/sessions/" + s.session(t, "shell-basic")
	for n := range 7 {
		s.do(t, "PUT", fmt.Sprintf("%s/files/d/%d", session, n), "x", "Content-Type", "application/octet-stream")
	}
	var names []string
	for cursor := ""; ; {
		var page struct {
			Files      []yurt.FileInfo
			NextCursor string `json:"next_cursor"`
		}
		s.do(t, "GET", session+"/files?list=d&limit=3&cursor="+cursor, "").decode(t, &page)
		for _, f := range page.Files {
			names = append(names, f.Path)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if want := []string{"d/0", "d/1", "d/2", "d/3", "d/4", "d/5", "d/6"}; !slices.Equal(names, want) {
		t.Errorf("listed %q", names)
	}
	if a := s.do(t, "GET", session+"/files?list=none", ""); a.body != `{"files":[],"next_cursor":""}`+"\n" {
		t.Errorf("an empty list is %q", a.body)
	}
	if a := s.do(t, "GET", session+"/files?stat=d/3", ""); !strings.Contains(a.body, `"path":"d/3"`) {
		t.Errorf("one file is %q", a.body)
	}
}

func TestArchives(t *testing.T) {
	s := newServer(t)
	session := "/api/v1/sessions/" + s.session(t, "shell-basic")
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	w.WriteHeader(&tar.Header{Name: "x/y", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3})
	w.Write([]byte("abc"))
	w.Close()
	a := s.do(t, "POST", session+"/files/archive?path=in", archive.String(), "Content-Type", "application/x-tar")
	if a.status != 200 || a.body != `{"entries":1,"bytes":3}`+"\n" {
		t.Errorf("unpacking: %d %s", a.status, a.body)
	}
	a = s.do(t, "POST", session+"/files/archive", `{"path": "in/x"}`)
	r := tar.NewReader(strings.NewReader(a.body))
	header, err := r.Next()
	if err != nil || header.Name != "y" || a.header.Get("Content-Type") != "application/x-tar" {
		t.Fatalf("packing: %d %v %+v", a.status, err, header)
	}
	if data, err := io.ReadAll(r); string(data) != "abc" || err != nil {
		t.Errorf("the file in it is %q, %v", data, err)
	}
	wantProblem(t, s.do(t, "POST", session+"/files/archive", strings.Repeat("x", 1024), "Content-Type", "application/x-tar"), yurt.CodeArchiveInvalid, "body")
	wantProblem(t, s.do(t, "POST", session+"/files/archive", "x", "Content-Type", "text/plain"), yurt.CodeMalformedBody, "Content-Type")
	// An archive that breaks off is not one that ends.
	s.do(t, "PUT", session+"/files/in/broken", "x", "Content-Type", "application/octet-stream")
	resp, err := http.Post(s.URL+session+"/files/archive", "application/json", strings.NewReader(`{"path":"in"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("an archive that broke off came to its end")
	}
}
