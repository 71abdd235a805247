package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCopySources(t *testing.T) {
	etc, dir := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(etc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("sources.list", "# ours\ndeb http://a.example/debian bookworm main\n")
	write("sources.list.d/b.list", "deb [signed-by=/k.gpg] http://b.example x main\ndeb-src http://b.example x main\n#deb http://c.example x main\n")
	write("sources.list.d/d.sources", "Types: deb\n# seen\nURIs: http://d.example\nSuites: x\n  y\n\ntypes:\n deb\n deb-src\nURIs: http://e.example\n")
	write("sources.list.d/e.list.disabled", "deb http://f.example x main\n")
	if err := copySources(etc, dir); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(text)
	}
	want := map[string]string{
		"sources.list": "deb-src http://a.example/debian bookworm main\n",
		"b.list":       "deb-src [signed-by=/k.gpg] http://b.example x main\ndeb-src http://b.example x main\n",
		"d.sources":    "Types: deb-src\n# seen\nURIs: http://d.example\nSuites: x\n  y\n\nTypes: deb-src\nURIs: http://e.example\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAllowF08 changes the condition and keeps the time stamp: make would run
// autotools otherwise.
func TestAllowF08(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configure")
	if err := os.WriteFile(path, []byte("if test \"$enable_f08\" = \"yes\""+f08Condition+"\nfi\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := allowF08(path); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "if test \"$enable_f08\" = \"yes\" ; then\n   f08dir=f08\nfi\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
	if !before.ModTime().Equal(after.ModTime()) || before.Mode() != after.Mode() {
		t.Errorf("time or mode changed: %v %v, %v %v", before.ModTime(), before.Mode(), after.ModTime(), after.Mode())
	}
}
