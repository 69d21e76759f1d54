package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

// entries reads one page: the members of a list, and the cursor of the next page.
func (s *server) entries(t *testing.T, path string) (list []map[string]any, next string) {
	t.Helper()
	a := s.do(t, "GET", path, "")
	var body map[string]json.RawMessage
	a.decode(t, &body)
	for name, value := range body {
		target := any(&list)
		if name == "next_cursor" {
			target = &next
		}
		if err := json.Unmarshal(value, target); err != nil {
			t.Fatalf("%s: member %s of %s: %v", path, name, a.body, err)
		}
	}
	if _, has := body["next_cursor"]; !has {
		t.Fatalf("%s: no next_cursor in %s", path, a.body)
	}
	return list, next
}

func names(list []map[string]any, member string) (all []string) {
	for _, entry := range list {
		all = append(all, fmt.Sprint(entry[member]))
	}
	return all
}

// TestEveryListHasPages reads each list that is not in the store whole and by pages of one entry.
func TestEveryListHasPages(t *testing.T) {
	s := newServer(t)
	session := "/api/v1/sessions/" + s.session(t, "shell-basic")
	for path, member := range map[string]string{
		"/api/v1/templates": "name", "/api/v1/nodes": "name", "/api/v1/pools": "template", "/api/v1/containers": "id", "/api/v1/runtimes": "name",
		session + "/events": "to", session + "/processes": "pid", session + "/contexts": "name",
	} {
		all, next := s.entries(t, path)
		if next != "" {
			t.Errorf("%s: a cursor after all %d entries", path, len(all))
		}
		var paged []string
		for cursor := ""; ; {
			page, after := s.entries(t, path+"?limit=1&cursor="+cursor)
			if paged = append(paged, names(page, member)...); len(page) > 1 || len(paged) > len(all) {
				t.Fatalf("%s: a page of %d entries with limit=1; so far %v", path, len(page), paged)
			}
			if cursor = after; cursor == "" {
				break
			}
		}
		if want := names(all, member); !slices.Equal(paged, want) {
			t.Errorf("%s: pages hold %v, want %v", path, paged, want)
		}
		wantProblem(t, s.do(t, "GET", path+"?cursor=s3cret", ""), yurt.CodeInvalidArgument, "cursor")
		wantProblem(t, s.do(t, "GET", path+"?limit=501", ""), yurt.CodeLimitOutOfRange, "limit")
	}
}

// TestPagesAreStable: templates that come and go between two pages neither repeat nor hide another one.
func TestPagesAreStable(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"zz-b", "zz-d", "zz-f"} {
		s.do(t, "POST", "/api/v1/templates", fmt.Sprintf(`{"name":%q}`, name))
	}
	page, cursor := s.entries(t, "/api/v1/templates?name_prefix=zz-&limit=2")
	if got := names(page, "name"); !slices.Equal(got, []string{"zz-b", "zz-d"}) || cursor == "" {
		t.Fatalf("the first page has %v, cursor %q", got, cursor)
	}
	s.do(t, "DELETE", "/api/v1/templates/zz-d", "") // the entry that the cursor names
	for _, name := range []string{"zz-a", "zz-e"} {
		s.do(t, "POST", "/api/v1/templates", fmt.Sprintf(`{"name":%q}`, name))
	}
	page, cursor = s.entries(t, "/api/v1/templates?name_prefix=zz-&limit=2&cursor="+cursor)
	if got := names(page, "name"); !slices.Equal(got, []string{"zz-e", "zz-f"}) || cursor != "" {
		t.Errorf("the second page has %v, cursor %q", got, cursor)
	}
}

func TestFilters(t *testing.T) {
	s := newServer(t)
	first, second := s.session(t, "shell-basic"), s.session(t, "python-basic")
	s.do(t, "DELETE", "/api/v1/sessions/"+first, "")
	s.do(t, "POST", "/api/v1/sessions/"+second+"/execute", `{"command": "true"}`)
	s.do(t, "POST", "/api/v1/sessions/"+second+"/execute", `{"code": "1", "language": "python"}`)
	soon := url.QueryEscape(time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	for _, test := range []struct {
		path, member string
		want         []string
	}{
		{"sessions?live=true", "id", []string{second}},
		{"sessions?created_before=" + soon, "id", []string{second, first}},
		{"sessions?created_after=" + soon, "id", nil},
		{"sessions/" + second + "/executions?kind=code", "language", []string{"python"}},
		{"sessions/" + second + "/executions?language=python&state=succeeded", "kind", []string{"code"}},
		{"sessions/" + second + "/executions?kind=handler", "kind", nil},
		{"sessions/" + second + "/executions?created_after=" + soon, "kind", nil},
		{"containers?session_id=" + second, "template", []string{"python-basic"}},
		{"containers?template=shell-basic&state=ready", "id", nil},
		{"templates?name_prefix=shell-", "name", []string{"shell-basic"}},
		{"templates?runtime=none-such", "name", nil},
		{"nodes?name_prefix=none-such", "name", nil},
		{"nodes?draining=true", "name", nil},
		{"runtimes?language=none-such", "name", nil},
		{"pools?template_prefix=none-such", "template", nil},
		{"sessions/" + second + "/processes?execution_id=exe_none", "pid", nil},
		{"sessions/" + second + "/contexts?language=none-such", "name", nil},
	} {
		list, _ := s.entries(t, "/api/v1/"+test.path)
		if got := names(list, test.member); !slices.Equal(got, test.want) {
			t.Errorf("%s lists %v, want %v", test.path, got, test.want)
		}
	}
	for path, field := range map[string]string{
		"sessions?created_after=": "created_after", "sessions?created_before=today": "created_before", "sessions?live=perhaps": "live",
		"sessions/" + second + "/executions?created_before=": "created_before", "sessions/" + second + "/executions?state=ready": "state",
		"nodes?healthy=perhaps": "healthy", "containers?state=lost": "state", "templates?name_prefix=%00": "name_prefix",
	} {
		wantProblem(t, s.do(t, "GET", "/api/v1/"+path, ""), yurt.CodeInvalidArgument, field)
	}
}
