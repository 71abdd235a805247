// Command testsum runs all tests of the project and closes with one summary.
//
// A test is a Go test without subtests of its own, a fuzz target that ran for
// its time, or a command that must exit 0. They come in stages (see stages.go);
// a stage that fails does not keep the later ones from running. What failed is
// shown with its output, what was skipped with its reason, and the last line is
//
//	N passed, N failed, N skipped
//
// over all stages. The exit status is 1 when something failed. Everything also
// goes into two files under build/out: tests.tap (the Test Anything Protocol)
// and tests.json (one object per test).
//
// Usage, from the root of the repository: go run ./build/testsum [flags] [stage ...]
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	fuzzTime := flag.Duration("fuzztime", 5*time.Second, "how long each fuzz target runs")
	out := flag.String("out", "build/out", "folder of the result files")
	list := flag.Bool("list", false, "only list the stages")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: testsum [flags] [stage ...]\nstages: %s\n", strings.Join(stageNames(), " "))
		flag.PrintDefaults()
	}
	flag.Parse()
	if *list {
		fmt.Println(strings.Join(stageNames(), "\n"))
		return
	}
	chosen, err := chooseStages(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}

	r := &report{start: time.Now()}
	for _, s := range chosen {
		r.stage(s.name)
		s.run(r, options{fuzzTime: *fuzzTime})
	}
	if err := r.writeFiles(*out); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	r.summary(os.Stdout)
	if r.count(failed) > 0 {
		os.Exit(1)
	}
}
