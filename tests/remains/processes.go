package remains

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Descendants finds the processes below pid that run the program.
func Descendants(pid int, program string) (list []int) {
	children := map[int][]int{}
	name := map[int]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
		fields := strings.Fields(string(b[end+1:]))
		if open < 0 || end < open || len(fields) < 2 {
			continue
		}
		self, _ := strconv.Atoi(strings.TrimSpace(string(b[:open])))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], self)
		name[self] = string(b[open+1 : end])
	}
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		if name[queue[0]] == program {
			list = append(list, queue[0])
		}
		queue = append(queue, children[queue[0]]...)
	}
	return list
}

// WithPool waits until no process has the file mapped but this one and those
// given, and gives the others that still have it at the limit.
func WithPool(pool string, but []int, limit time.Duration) (list []int) {
	for end := time.Now().Add(limit); ; time.Sleep(nap) {
		list = list[:0]
		maps, _ := filepath.Glob("/proc/[0-9]*/maps")
		for _, path := range maps {
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(b, []byte(pool)) {
				continue
			}
			if pid, _ := strconv.Atoi(strings.Split(path, "/")[2]); pid != os.Getpid() && !slices.Contains(but, pid) {
				list = append(list, pid)
			}
		}
		if len(list) == 0 || time.Now().After(end) {
			return list
		}
	}
}
