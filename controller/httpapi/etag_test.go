package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestFileTags: a client that has a file is not sent it again, and goes on with a part of it only while it is the same.
func TestFileTags(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "shell-basic") + "/files/a"
	write := func(content string) string {
		s.do(t, "PUT", path, content, "Content-Type", "application/octet-stream")
		a := s.do(t, "GET", path, "")
		if tag := a.header.Get("ETag"); a.body != content || !strings.HasPrefix(tag, `"`) {
			t.Fatalf("the file is %q with the tag %q", a.body, tag)
		}
		return a.header.Get("ETag")
	}
	first := write("one")
	for _, has := range []string{first, `"other", W/` + first, "*"} {
		if a := s.do(t, "GET", path, "", "If-None-Match", has); a.status != http.StatusNotModified || a.body != "" || a.header.Get("ETag") != first {
			t.Errorf("to a client that has %s the answer is %d %q with the tag %s", has, a.status, a.body, a.header.Get("ETag"))
		}
	}
	if a := s.do(t, "GET", path, "", "Range", "bytes=1-", "If-Range", first); a.status != http.StatusPartialContent || a.body != "ne" {
		t.Errorf("a range of the same file is %d %q", a.status, a.body)
	}
	second := write("three")
	if a := s.do(t, "GET", path, "", "If-None-Match", first); first == second || a.status != http.StatusOK || a.body != "three" {
		t.Errorf("after a change, from the tag %s to %s, the answer is %d %q", first, second, a.status, a.body)
	}
	for _, part := range []string{"bytes=1-", "bytes=100-"} {
		if a := s.do(t, "GET", path, "", "Range", part, "If-Range", first); a.status != http.StatusOK || a.body != "three" {
			t.Errorf("after a change the range %s is answered by %d %q", part, a.status, a.body)
		}
	}
}

// TestTemplateTags: the tag changes with all that is shown of a template, and a compressed answer has a tag of its own that counts too.
func TestTemplateTags(t *testing.T) {
	s := newServer(t)
	const path = "/api/v1/templates/tagged"
	write := func(description string) {
		if a := s.do(t, "PUT", path, `{"name": "tagged", "description": "`+description+`", "warm_pool": {"max": `+string('0'+rune(len(description)%10))+`}}`); a.status != http.StatusOK {
			t.Fatal(a.body)
		}
	}
	write(strings.Repeat("a", 1500))
	tag := func(encoding string) string {
		answer, _ := s.raw(t, path, map[string]string{"Accept-Encoding": encoding})
		return answer.Header.Get("ETag")
	}
	plain, gzip, zstd := tag("identity"), tag("gzip"), tag("zstd")
	if plain == "" || plain == gzip || plain == zstd || gzip == zstd {
		t.Errorf("the tags are %q plain, %q by gzip and %q by zstd", plain, gzip, zstd)
	}
	for _, has := range []string{plain, gzip, zstd} {
		for _, encoding := range []string{"identity", "gzip", "zstd"} {
			if a := s.do(t, "GET", path, "", "If-None-Match", has, "Accept-Encoding", encoding); a.status != http.StatusNotModified || a.body != "" {
				t.Errorf("to a client that has %s and accepts %s the answer is %d with %d bytes", has, encoding, a.status, len(a.body))
			}
		}
	}
	write(strings.Repeat("a", 1501)) // another description, and another pool
	if a := s.do(t, "GET", path, "", "If-None-Match", plain); a.status != http.StatusOK {
		t.Errorf("after a change the answer is %d", a.status)
	}
}
