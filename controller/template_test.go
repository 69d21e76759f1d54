package controller_test

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/execution"
)

func quiet(string) error { return nil }

// TestPushTemplates makes several templates at once, all of them or not one.
func TestPushTemplates(t *testing.T) {
	w := testWorld(t)
	good := yurt.Template{Name: "good", Runtimes: []string{"python"}}
	refused := map[string]struct {
		template yurt.Template
		code     yurt.Code
		says     string
	}{
		"an unknown runtime": {yurt.Template{Name: "bad", Runtimes: []string{"pyton"}}, yurt.CodeTemplateInvalid, `did you mean "python"?`},
		"an unknown base":    {yurt.Template{Name: "bad", Extends: "python-basik"}, yurt.CodeTemplateInvalid, `did you mean "python-basic"?`},
		"a built-in name":    {yurt.Template{Name: "python-basic"}, yurt.CodeTemplateExists, "built in"},
		"a name twice":       {yurt.Template{Name: "good"}, yurt.CodeInvalidArgument, "twice"},
		"a name with spaces": {yurt.Template{Name: "a b"}, yurt.CodeInvalidArgument, "letters"},
	}
	for name, test := range refused {
		err := w.PushTemplates(t.Context(), []yurt.Template{good, test.template}, false, quiet)
		if wantCode(t, err, test.code); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: the error %v does not say %q", name, err, test.says)
		}
		if _, err := w.Template(t.Context(), "good"); yurt.CodeOf(err) != yurt.CodeTemplateNotFound {
			t.Fatalf("%s: the other template was made: %v", name, err)
		}
	}
	if err := w.PushTemplates(t.Context(), []yurt.Template{{Name: "better", Extends: "good"}, good}, false, quiet); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.PushTemplates(t.Context(), []yurt.Template{{Name: "third"}, good}, false, quiet), yurt.CodeTemplateExists)
	wantCode(t, w.DeleteTemplate(t.Context(), "third"), yurt.CodeTemplateNotFound)
}

// TestUnknownTemplateIsAskedAfter: each call that names a template which does not exist asks for the one that was meant.
func TestUnknownTemplateIsAskedAfter(t *testing.T) {
	w := testWorld(t)
	ctx := t.Context()
	if _, err := w.CreateTemplate(ctx, yurt.Template{Name: "mine", Runtimes: []string{"python"}}, quiet); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(name string) error{
		"template": func(name string) error { _, err := w.Template(ctx, name); return err },
		"prepare":  func(name string) error { _, err := w.PrepareTemplate(ctx, name, quiet); return err },
		"pool":     func(name string) error { _, err := w.UnsetPool(ctx, name); return err },
		"delete":   func(name string) error { return w.DeleteTemplate(ctx, name) },
		"create": func(name string) error {
			_, err := w.CreateSession(ctx, controller.CreateSessionRequest{TemplateID: name})
			return err
		},
	}
	for name, call := range calls {
		for given, want := range map[string]string{
			"mime":         `there is no template "mime"; did you mean "mine"? List the templates to see all`,
			"pyton-basic":  `there is no template "pyton-basic"; did you mean "python-basic"? List the templates to see all`,
			"other-things": `there is no template "other-things"; list the templates to see which there are`,
		} {
			err := call(given)
			if wantCode(t, err, yurt.CodeTemplateNotFound); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s of %s: the error is %v, expected %q", name, given, err, want)
			}
		}
	}
}

// TestSessionsOutliveTheirTemplate has a session go on as it began while its template is replaced
// and deleted.
func TestSessionsOutliveTheirTemplate(t *testing.T) {
	w := testWorld(t)
	ctx := t.Context()
	if _, err := w.CreateTemplate(ctx, yurt.Template{Name: "mine", Runtimes: []string{"python"}}, quiet); err != nil {
		t.Fatal(err)
	}
	session, err := w.CreateSession(ctx, controller.CreateSessionRequest{TemplateID: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	runs := func(when string) {
		t.Helper()
		if e, err := w.Execute(ctx, session.ID, execution.Request{Code: "x"}); err != nil || e.Language != "python" {
			t.Errorf("code in the session %s: language %q, error %v", when, e.Language, err)
		}
	}
	if _, err := w.ReplaceTemplate(ctx, "mine", yurt.Template{Name: "mine", Runtimes: []string{"node"}}, yurt.Condition{}, quiet); err != nil {
		t.Fatal(err)
	}
	runs("after its template was replaced")
	_, err = w.ReplaceTemplate(ctx, "mine", yurt.Template{Name: "other"}, yurt.Condition{}, quiet)
	wantCode(t, err, yurt.CodeInvalidArgument)
	if err := w.DeleteTemplate(ctx, "mine"); err != nil {
		t.Fatal(err)
	}
	runs("after its template was deleted")
	_, err = w.CreateSession(ctx, controller.CreateSessionRequest{TemplateID: "mine"})
	wantCode(t, err, yurt.CodeTemplateNotFound)
	wantCode(t, w.DeleteTemplate(ctx, "python-basic"), yurt.CodeForbidden)
}

// TestDefaultTemplate makes a session of no template, whose code is in no language.
func TestDefaultTemplate(t *testing.T) {
	w := testWorld(t)
	session, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{})
	if err != nil || session.TemplateID != yurt.DefaultTemplate {
		t.Fatalf("a session without a template is of %q, error %v", session.TemplateID, err)
	}
	if e, err := w.Execute(t.Context(), session.ID, execution.Request{Code: "x"}); err != nil || e.Language != "python" {
		t.Errorf("code without a language is %q, error %v", e.Language, err)
	}
	shell, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "shell-basic"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Execute(t.Context(), shell.ID, execution.Request{Code: "x", Language: "js"})
	if wantCode(t, err, yurt.CodeLanguageNotSupported); err != nil && !strings.Contains(err.Error(), "template that has it: default, polyglot") {
		t.Errorf("the error does not name the templates: %v", err)
	}
}

// TestTemplateChangesAtOnce: of many clients that replace the template that they have read, one does, and the others are told.
func TestTemplateChangesAtOnce(t *testing.T) {
	w := testWorld(t)
	first, err := w.CreateTemplate(t.Context(), yurt.Template{Name: "mine"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var replaced, refused atomic.Int64
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			next := yurt.Template{Name: "mine", Description: strconv.Itoa(n)}
			_, err := w.ReplaceTemplate(t.Context(), "mine", next, yurt.Condition{Match: []string{first.ETag()}}, quiet)
			switch yurt.CodeOf(err) {
			case "":
				replaced.Add(1)
			case yurt.CodePreconditionFailed:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if replaced.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d clients replaced the template and %d were refused, want 1 and 19", replaced.Load(), refused.Load())
	}
}
