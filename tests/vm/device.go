package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// poolMiB is the size of the memory that the guests share.
const poolMiB = 512

// device is a kind of shared memory that QEMU emulates.
type device struct {
	name, what string
	machine    string   // options of QEMU's q35 machine
	modules    []string // of the kernel, for modprobe
	// attach gives QEMU's arguments; memory is the shared file, labels a small one
	// beside it.
	attach func(memory, labels string) []string
	// create makes the devdax namespace, once; every guest runs prepare after it has
	// loaded the modules.
	prepare, create string
}

// devices are all there are, by the name that --device takes.
var devices = []device{
	{
		name: "nvdimm", what: "NVDIMM in devdax mode", machine: "nvdimm=on",
		modules: []string{"nfit", "nd_pmem", "dax_pmem", "device_dax"},
		attach: func(memory, _ string) []string {
			return []string{
				"-object", fmt.Sprintf("memory-backend-file,id=pool,share=on,mem-path=%s,size=%dM,align=2M", memory, poolMiB),
				"-device", "nvdimm,id=nvdimm0,memdev=pool",
			}
		},
		create: "ndctl create-namespace -f -e namespace0.0 -m devdax --map=mem --align=2M",
	},
	{
		name: "cxl", what: "CXL type-3 device in devdax mode", machine: "cxl=on",
		modules: []string{"cxl_acpi", "cxl_pci", "cxl_mem", "cxl_pmem", "nd_pmem", "dax_pmem", "device_dax"},
		// The host bridge needs a second root port: the kernel finds no decoder in a
		// bridge with one.
		attach: func(memory, labels string) []string {
			return []string{
				"-M", "cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size=4G",
				"-object", fmt.Sprintf("memory-backend-file,id=pool,share=on,mem-path=%s,size=%dM", memory, poolMiB),
				"-object", fmt.Sprintf("memory-backend-file,id=labels,share=on,mem-path=%s,size=1M", labels),
				"-device", "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1",
				"-device", "cxl-rp,port=0,bus=cxl.1,id=port0,chassis=0,slot=2",
				"-device", "cxl-rp,port=1,bus=cxl.1,id=port1,chassis=0,slot=3",
				"-device", "cxl-type3,bus=port0,memdev=pool,lsa=labels,id=cxl0,sn=0x77",
			}
		},
		prepare: "cxl create-region -m -d decoder0.0 -w 1 mem0",
		create:  "ndctl create-namespace -t pmem -m devdax --map=mem -r region0",
	},
}

// names are the names of all devices.
func names(list []device) string {
	var s []string
	for _, d := range list {
		s = append(s, d.name)
	}
	return strings.Join(s, ", ")
}

// setUp is the shell command that makes dax a device file of this guest; first
// says whether the namespace has to be created.
func (d device) setUp(k kernel, first bool) string {
	// Without configuration files: those of ndctl would look for keys of encrypted
	// modules first, and for libnvdimm elsewhere.
	commands := []string{"modprobe -C /dev/null -d " + quote(k.dir) + " -a " + strings.Join(d.modules, " ")}
	if d.prepare != "" {
		commands = append(commands, d.prepare)
	}
	if first {
		commands = append(commands, d.create)
	}
	// Devices appear a moment after the command that makes them.
	commands = append(commands,
		"for i in $(seq 100); do test -c "+dax+" && break; sleep 0.1; done",
		"ls -l "+dax)
	return strings.Join(commands, " && ")
}

// dax is the pool in every guest.
const dax = "/dev/dax0.0"

// sysfs is where the kernel describes it.
var sysfs = filepath.Join("/sys/bus/dax/devices", filepath.Base(dax))
