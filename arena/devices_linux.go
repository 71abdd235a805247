package arena

import (
	"os"
	"path/filepath"
)

// Device is a devdax device of this machine, as sysfs describes it.
type Device struct {
	Name   string // dax0.0
	Path   string // /dev/dax0.0
	Size   int64  // bytes
	Align  int64  // bytes; mappings are a multiple of it
	Node   int    // NUMA node that is nearest; -1: unknown
	Target int    // NUMA node that the memory itself would be, were it onlined; -1: unknown
}

// Devices lists the devdax devices of this machine, whether or not we may open
// them, in the order of their names. Those without a size are left out.
func Devices() []Device { return devicesIn(sysRoot) }

func devicesIn(root string) (list []Device) {
	dir := filepath.Join(root, "bus/dax/devices")
	entries, _ := os.ReadDir(dir) // none: no such devices
	for _, e := range entries {
		d := Device{Name: e.Name(), Path: filepath.Join("/dev", e.Name()), Node: -1, Target: -1}
		attr := func(name string) (int64, error) { return sysInt(filepath.Join(dir, d.Name, name)) }
		var err error
		if d.Size, err = attr("size"); err != nil || d.Size <= 0 {
			continue
		}
		d.Align, _ = attr("align") // 0: an old kernel that doesn't say
		if n, err := attr("numa_node"); err == nil {
			d.Node = int(n)
		}
		if n, err := attr("target_node"); err == nil {
			d.Target = int(n)
		}
		list = append(list, d)
	}
	return list
}
