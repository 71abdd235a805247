package apps

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmpi/tests/job"
)

// coarrays is where Debian's libcoarrays-mpich-dev has OpenCoarrays' own tests.
const coarrays = "/usr/lib/x86_64-linux-gnu/open-coarrays/mpich/bin/OpenCoarrays-*-tests"

// images are the ranks of those that need more than two.
var images = map[string]int{
	"allocatable_p2p_event_post":             4,
	"issue-422-send-get":                     4,
	"sendget_convert_char_array":             4,
	"sendget_convert_nums":                   4,
	"static_event_post_issue_293":            4,
	"strided_sendget":                        4,
	"sync_image_ring_abort_on_stopped_image": 4,
	"sync_team":                              8,
	"team_number":                            8,
}

// quickCoarrays are those of the quick run: puts, gets, strides, events, atomics,
// teams, collectives.
var quickCoarrays = []string{"atomics", "co_reduce_test", "coarray_burgers_pde", "get_convert_nums", "increment_my_neighbor",
	"register_alloc_comp_3", "send_array", "strided_sendget", "syncimages", "teams_coarray_sendget", "static_event_post_issue_293"}

// apart are the programs that fail with any MPI, by what their names begin with:
// Debian builds OpenCoarrays without failed images, and issue-488 reads an
// argument that its test script gives.
var apart = regexp.MustCompile("^(image_fail_|issue-488)")

// TestCoarrays runs the tests of OpenCoarrays, which is coarray Fortran over
// one-sided MPI. It takes the unified memory model for granted: what an image
// stores in its own part of a window others are to get without MPI_Win_sync. Hosts
// whose caches are not coherent cannot offer that, so emulate mode is left out.
func TestCoarrays(t *testing.T) {
	folders, err := filepath.Glob(coarrays)
	if err != nil {
		t.Fatal(err)
	}
	folder := coarrays
	if len(folders) > 0 {
		folder = folders[0]
	}
	need(t, "libcoarrays-mpich-dev", folder)
	programs, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var apps []app
	for _, path := range programs {
		name := filepath.Base(path)
		if apart.MatchString(name) {
			continue
		}
		ranks := images[name]
		if ranks == 0 {
			ranks = 2
		}
		apps = append(apps, app{
			name:    name,
			ranks:   []int{ranks},
			modes:   usual,
			slow:    !slices.Contains(quickCoarrays, name),
			frail:   true,
			prepare: func(*testing.T, string) []string { return []string{path} },
			result:  coarrayResult,
		})
	}
	test(t, apps)
}

// coarrayResult is the verdict: some programs print it, all stop with an error if
// they find one. What else they print has times and random numbers in it.
func coarrayResult(_ string, r job.Result) (any, error) {
	output := strings.ToLower(r.Stdout + r.Stderr)
	if strings.Contains(output, "fail") {
		return nil, errors.New("it speaks of failure")
	}
	return strings.Contains(output, "test passed"), nil
}
