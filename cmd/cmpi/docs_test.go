package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"cmpi/settings"
)

// testSettings are variables of tests, of which the pages may speak too.
var testSettings = []string{"CMPI_MODELCHECK_LONG", "CMPI_WINDOW_SEEDS"}

// TestDocumentedSettings: the pages name no setting that does not exist.
func TestDocumentedSettings(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md", "../../CHANGELOG.md")
	name := regexp.MustCompile(`CMPI_[A-Z_]*[A-Z]`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range name.FindAllString(string(text), -1) {
			if !slices.Contains(settings.Names(), found) && !slices.Contains(testSettings, found) {
				t.Errorf("%s: there is no setting %s", page, found)
			}
		}
	}
}

// TestLinks: files that the pages link to exist.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	// made by the first full measurement
	made := regexp.MustCompile(`^img/.*\.svg$`)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if made.MatchString(m[1]) {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: link to %s, which is not there", page, m[1])
			}
		}
	}
}
