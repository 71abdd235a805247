package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"cmpi/arena"
	"cmpi/settings"
)

// defaultPoolDir is where a job's own pool file is made.
const defaultPoolDir = "/dev/shm"

// poolInfo describes the pool that a job started now would use.
type poolInfo struct {
	Path      string       `json:"path"` // "" = a fresh file per job in /dev/shm
	Kind      string       `json:"kind"`
	Size      int64        `json:"size"`       // bytes, of a file that would be made
	FreeBytes uint64       `json:"free_bytes"` // in its filesystem; 0 for a device
	Devices   []deviceInfo `json:"devices"`    // devdax devices of this machine
	Problem   string       `json:"problem,omitempty"`
}

// deviceInfo is a devdax device as --json tells of it.
type deviceInfo struct {
	Name       string `json:"name"`
	Path       string `json:"path"`
	Size       int64  `json:"size"`        // bytes
	Align      int64  `json:"align"`       // bytes; 0: not known
	NUMANode   int    `json:"numa_node"`   // nearest; -1: not known
	TargetNode int    `json:"target_node"` // of the memory itself; -1: not known
}

func (d deviceInfo) String() string {
	s := fmt.Sprintf("%s, %s", d.Path, sizeText(d.Size))
	if d.Align > 0 {
		s += ", aligned to " + sizeText(d.Align)
	}
	if d.NUMANode >= 0 {
		s += fmt.Sprintf(", near NUMA node %d", d.NUMANode)
	}
	if d.TargetNode >= 0 {
		s += fmt.Sprintf(", target node %d", d.TargetNode)
	}
	return s
}

// describePool looks at the pool without opening it.
func describePool(s settings.Settings) poolInfo {
	p := poolInfo{Path: s.Pool, Kind: "file per job", Size: s.PoolSize, Devices: []deviceInfo{}}
	for _, d := range arena.Devices() {
		p.Devices = append(p.Devices, deviceInfo{d.Name, d.Path, d.Size, d.Align, d.Node, d.Target})
	}
	where := defaultPoolDir
	if s.Pool != "" {
		where = s.Pool // the file itself may be mounted or linked from elsewhere
		st, err := os.Stat(s.Pool)
		switch {
		case err != nil:
			p.Kind, p.Problem = "file", err.Error()
			where = filepath.Dir(s.Pool)
		case st.Mode()&os.ModeCharDevice != 0:
			p.Kind, p.Size = "device", 0
			return p
		default:
			p.Kind, p.Size = "file", st.Size()
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(where, &fs); err != nil {
		p.Problem = fmt.Sprintf("%s: %v", where, err)
		return p
	}
	p.FreeBytes = fs.Bavail * uint64(fs.Bsize)
	return p
}

func (p poolInfo) String() string {
	path := p.Path
	if path == "" {
		path = "in " + defaultPoolDir
	}
	s := fmt.Sprintf("%s (%s)", path, p.Kind)
	if p.Size > 0 {
		s += fmt.Sprintf(", %d MiB", p.Size>>20)
	}
	if p.FreeBytes > 0 {
		s += fmt.Sprintf(", %d MiB free there", p.FreeBytes>>20)
	}
	if p.Problem != "" {
		s += "; " + p.Problem
	}
	return s
}
