package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
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

// TestFileConditions: a write under a condition replaces the file that the condition names and no other one.
func TestFileConditions(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "shell-basic") + "/files/a"
	put := func(content string, headers ...string) answer {
		return s.do(t, "PUT", path, content, append([]string{"Content-Type", "application/octet-stream"}, headers...)...)
	}
	if a := put("lost", "If-Match", "*"); a.status != http.StatusPreconditionFailed || a.header.Get("ETag") != "" {
		t.Errorf("a file that is not there is replaced: %d %s", a.status, a.body)
	}
	made := put("one", "If-None-Match", "*")
	first := made.header.Get("ETag")
	if made.status != http.StatusCreated || first == "" || s.do(t, "GET", path, "").header.Get("ETag") != first {
		t.Fatalf("a file that is not there: %d %s with the tag %q", made.status, made.body, first)
	}
	replaced := put("two", "If-Match", `"other", `+first)
	second := replaced.header.Get("ETag")
	if replaced.status != http.StatusCreated || second == first {
		t.Fatalf("the file that was read: %d %s", replaced.status, replaced.body)
	}
	for header, value := range map[string]string{"If-Match": first, "If-None-Match": "*"} {
		a := put("lost", header, value)
		wantProblem(t, a, yurt.CodePreconditionFailed, header)
		if a.header.Get("ETag") != second {
			t.Errorf("%s: the answer has the tag %q, want the present one, %s", header, a.header.Get("ETag"), second)
		}
	}
	wantProblem(t, put("lost", "If-Match", "W/"+second), yurt.CodePreconditionFailed, "If-Match")
	wantProblem(t, put("lost", "If-Match", "bare"), yurt.CodeInvalidArgument, "If-Match")
	for _, query := range []string{"?append=true", "?directory=true"} {
		wantProblem(t, s.do(t, "PUT", path+query, "", "Content-Type", "application/octet-stream", "If-Match", second), yurt.CodeInvalidArgument, "If-Match")
	}
	if a := s.do(t, "GET", path, ""); a.body != "two" {
		t.Errorf("after all that the file is %q", a.body)
	}
}

// TestTemplateConditions: a template is replaced only as it was read, also by the tag of a compressed answer.
func TestTemplateConditions(t *testing.T) {
	s := newServer(t)
	const path = "/api/v1/templates/guarded"
	put := func(description string, headers ...string) answer {
		return s.do(t, "PUT", path, `{"name": "guarded", "description": "`+description+`"}`, headers...)
	}
	wantProblem(t, put("lost", "If-Match", "*"), yurt.CodePreconditionFailed, "If-Match")
	long := strings.Repeat("a", 1500)
	if a := put(long, "If-None-Match", "*"); a.status != http.StatusOK {
		t.Fatalf("a template that is not there: %d %s", a.status, a.body)
	}
	compressed, _ := s.raw(t, path, map[string]string{"Accept-Encoding": "gzip"})
	first := compressed.Header.Get("ETag")
	replaced := put("second", "If-Match", first)
	if replaced.status != http.StatusOK || replaced.header.Get("ETag") != s.do(t, "GET", path, "").header.Get("ETag") {
		t.Fatalf("the template that was read: %d %s", replaced.status, replaced.body)
	}
	for header, value := range map[string]string{"If-Match": first, "If-None-Match": "*"} {
		a := put("lost", header, value)
		wantProblem(t, a, yurt.CodePreconditionFailed, header)
		if a.header.Get("ETag") != replaced.header.Get("ETag") {
			t.Errorf("%s: the answer has the tag %q, want the present one", header, a.header.Get("ETag"))
		}
	}
	if a := s.do(t, "GET", path, ""); !strings.Contains(a.body, `"second"`) {
		t.Errorf("after all that the template is %s", a.body)
	}
}
