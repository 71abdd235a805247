package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// errUnavailable wraps whatever keeps the suite from being had on this machine
// at all: no mpich package, no apt, no network.
var errUnavailable = errors.New("MPICH's test suite is not available here")

// sourcePackage names the source of the installed mpich package and its
// version, as apt-get source takes them.
func sourcePackage(ctx context.Context) (name, version string, err error) {
	out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f=${source:Package} ${source:Version}", "mpich").Output()
	if err != nil {
		return "", "", fmt.Errorf("%w: no mpich package is installed (build/setup installs it): %w", errUnavailable, err)
	}
	f := strings.Fields(string(out))
	if len(f) != 2 {
		return "", "", fmt.Errorf("%w: dpkg-query says %q", errUnavailable, out)
	}
	return f[0], f[1], nil
}

// fetchSource leaves the archives of a source package in dir and returns the
// path of the upstream one. apt works in dir only: with copies of the machine's
// package sources that ask for source packages, and lists and caches of its own.
// It needs no privileges and changes nothing else.
func (s *suite) fetchSource(ctx context.Context, dir, name, version string) (string, error) {
	upstream := filepath.Join(dir, name+"_*.orig.tar.*")
	if found := archives(upstream); found != "" {
		return found, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnavailable, err)
	}
	parts := filepath.Join(dir, "sources")
	lists := filepath.Join(dir, "lists")
	cache := filepath.Join(dir, "cache")
	for _, d := range []string{parts, filepath.Join(lists, "partial"), filepath.Join(cache, "archives/partial")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return "", err
		}
	}
	if err := copySources("/etc/apt", parts); err != nil {
		return "", err
	}
	config := filepath.Join(dir, "apt.conf")
	settings := fmt.Sprintf(`Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "%s";
Dir::State::lists "%s";
Dir::Cache "%s";
APT::Sandbox::User "root"; // another user could not write here
Acquire::Retries "2";
Acquire::http::Timeout "30";
`, parts, lists, cache)
	if err := os.WriteFile(config, []byte(settings), 0o644); err != nil {
		return "", err
	}
	env := append(os.Environ(), "APT_CONFIG="+config)
	// A third party's repository without source packages makes update fail, and
	// is no obstacle.
	updateErr := s.step(ctx, step{name: "apt-update", what: "reading the lists of source packages", dir: dir, env: env,
		argv: []string{apt, "-q", "update"}})
	err = s.step(ctx, step{name: "apt-source", what: "fetching " + name + " " + version, dir: dir, env: env,
		argv: []string{apt, "-q", "source", "--download-only", name + "=" + version}})
	found := archives(upstream)
	if err != nil || found == "" {
		return "", fmt.Errorf("%w: its source could not be fetched: %w", errUnavailable, errors.Join(updateErr, err))
	}
	return found, nil
}

// archives finds the one archive of a pattern; a signature beside it does not count.
func archives(pattern string) string {
	found, _ := filepath.Glob(pattern) // the pattern is ours: it is well-formed
	for _, f := range found {
		if !strings.HasSuffix(f, ".asc") {
			return f
		}
	}
	return ""
}

// copySources writes, for each file of package sources below etc, one into dir
// that asks the same places for source packages.
func copySources(etc, dir string) error {
	files := []string{filepath.Join(etc, "sources.list")}
	for _, pattern := range []string{"*.list", "*.sources"} {
		more, err := filepath.Glob(filepath.Join(etc, "sources.list.d", pattern))
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		convert := sourceLines
		if filepath.Ext(f) == ".sources" {
			convert = sourceStanzas
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), []byte(convert(string(text))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sourceLines turns the lines of a .list file into lines for source packages.
func sourceLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "deb" && words[0] != "deb-src" {
			continue
		}
		words[0] = "deb-src"
		b.WriteString(strings.Join(words, " ") + "\n")
	}
	return b.String()
}

// sourceStanzas turns the stanzas of a .sources file (deb822) into stanzas for
// source packages.
func sourceStanzas(text string) string {
	var b strings.Builder
	dropping := false // inside the field Types
	for line := range strings.Lines(text) {
		continues := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		if continues && dropping {
			continue
		}
		field, _, _ := strings.Cut(line, ":")
		if dropping = strings.EqualFold(strings.TrimSpace(field), "Types") && !continues; dropping {
			line = "Types: deb-src\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
