package storetest

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// refuseTaken is the check of a request that makes templates.
func refuseTaken(t yurt.Template, there *yurt.Template) error {
	if there != nil {
		return yurt.Errorf(yurt.CodeTemplateExists, "template %s exists", t.Name)
	}
	return nil
}

func testTemplates(t *testing.T, store contract.Store) {
	ctx := t.Context()
	b := yurt.Template{
		Name: "b", Description: "d", RootFS: yurt.RootFS{HostPaths: []string{"/usr"}}, Runtimes: []string{"python"},
		Env: map[string]string{"A": "b"}, Resources: yurt.DefaultResources(), Isolation: yurt.Isolation{Level: yurt.IsolationNamespaces},
		Network: yurt.Network{Mode: yurt.NetworkNone}, Session: yurt.DefaultSessionLimits(),
	}
	a := b
	a.Name = "a"
	a.Extends = "b"
	if err := store.PutTemplates(ctx, []yurt.Template{b, a}, refuseTaken); err != nil {
		t.Fatal(err)
	}
	wantCode(t, store.PutTemplates(ctx, []yurt.Template{{Name: "c"}, {Name: "a"}}, refuseTaken), yurt.CodeTemplateExists)
	got, err := store.Template(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "template", got, a)
	list, err := store.Templates(ctx)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "templates", list, []yurt.Template{a, b}) // and no c
	testTemplatesGo(t, store, b)
}

// testTemplatesGo replaces and deletes templates: b, and a, which extends it.
func testTemplatesGo(t *testing.T, store contract.Store, b yurt.Template) {
	t.Helper()
	ctx := t.Context()
	b.Description, b.Extends = "another", ""
	c := yurt.Template{Name: "c", Runtimes: []string{}}
	seen := map[string]string{} // descriptions of the templates that are there, by name
	look := func(t yurt.Template, there *yurt.Template) error {
		if seen[t.Name] = ""; there != nil {
			seen[t.Name] = there.Description
		}
		return nil
	}
	if err := store.PutTemplates(ctx, []yurt.Template{b, c}, look); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "templates that a check was shown", seen, map[string]string{"b": "d", "c": ""})
	err := store.DeleteTemplate(ctx, "b")
	if wantCode(t, err, yurt.CodeTemplateInUse); err != nil && !strings.Contains(err.Error(), "extended by a;") {
		t.Errorf("the error does not name the template: %v", err)
	}
	wantCode(t, store.DeleteTemplate(ctx, "none"), yurt.CodeTemplateNotFound)
	if err := store.SetPoolSize(ctx, "a", yurt.PoolSize{Min: 1, Max: 2}); err != nil {
		t.Fatal(err)
	}
	if err := store.DeleteTemplate(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	sizes, err := store.PoolSizes(ctx)
	if _, has := sizes["a"]; has || err != nil {
		t.Errorf("the pool of a deleted template has the size %+v, error %v", sizes["a"], err)
	}
	list, err := store.Templates(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.RootFS.HostPaths = []string{"/usr"}
	wantEqual(t, "templates", list, []yurt.Template{b, c})
}
