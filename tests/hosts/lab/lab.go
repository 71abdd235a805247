package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cmpi/tests/process"
)

// Config says what lab to make.
type Config struct {
	Name  string // the same for nobody else on this machine
	Hosts int    // 1 to MaxHosts; they are called h1, h2, ...
	// Pool is the file or device that the hosts share; if empty a sparse file of
	// PoolSize bytes (DefaultPoolSize if zero) is made, and removed with the lab.
	Pool     string
	PoolSize int64
	// Keep are folders that hosts are to see although they lie below /tmp,
	// /dev/shm or /srv, which are each host's own: those of programs, for example.
	// Other folders are seen anyway.
	Keep []string
	// Persistent labs outlive the process that makes them, until they are taken
	// down; others are leftovers when it has ended.
	Persistent bool
}

const (
	// MaxHosts is what the slow network has ports for.
	MaxHosts = 16
	// DefaultPoolSize is the library's own default. Memory is taken for what is used.
	DefaultPoolSize = 1 << 30
)

// ErrUnsupported is the error of Up where this user or machine can't make hosts.
var ErrUnsupported = errors.New("hosts can't be made here")

// Lab is a running lab. Its fields are what other processes need to know, too.
type Lab struct {
	Name     string          `json:"name"`
	Owner    process.Process `json:"owner"` // zero if the lab is persistent
	Head     process.Process `json:"head"`
	Hosts    []Host          `json:"hosts"`
	Pool     string          `json:"pool"`
	MadePool bool            `json:"made_pool"`
	Keep     []string
	Slow     *Slow `json:"slow,omitempty"`
}

// Host is one host of a lab.
type Host struct {
	Name    string          `json:"name"`
	Address string          `json:"address"` // in the first network
	Pool    string          `json:"pool"`    // where it sees the pool
	CPUs    []int           `json:"cpus"`    // its processors, shared with other hosts if there are too few
	Init    process.Process `json:"init"`    // its process 1
}

// Up returns whether the host runs.
func (h Host) Up() bool { return h.Init.Alive() }

// Up makes a lab. It takes down those that others have left behind.
func Up(ctx context.Context, c Config) (l *Lab, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := supported(ctx); err != nil {
		return nil, err
	}
	if _, err := Sweep(); err != nil {
		return nil, fmt.Errorf("taking down what earlier labs left: %w", err)
	}
	if l, err = c.begin(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Down(l.Name))
		}
	}()
	if err := l.writeTools(ctx); err != nil {
		return nil, err
	}
	if err := l.startHead(ctx); err != nil {
		return nil, err
	}
	for i := range l.Hosts {
		if err := l.startHost(ctx, &l.Hosts[i]); err != nil {
			return nil, err
		}
	}
	if c.Persistent {
		l.Owner = process.Process{}
	}
	return l, l.write()
}

func (c *Config) check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	if c.Hosts < 1 || c.Hosts > MaxHosts {
		return fmt.Errorf("a lab has 1 to %d hosts, not %d", MaxHosts, c.Hosts)
	}
	if c.PoolSize == 0 {
		c.PoolSize = DefaultPoolSize
	}
	keep := c.Keep
	c.Keep = nil
	for _, dir := range keep {
		dir, err := filepath.Abs(dir)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return fmt.Errorf("a folder that hosts are to see: %w", err)
		}
		if dir == "/tmp" || dir == "/dev/shm" || dir == "/srv" {
			return fmt.Errorf("hosts can't see all of %s, which is each host's own; name a folder in it", dir)
		}
		if hidden(dir) {
			c.Keep = append(c.Keep, dir)
		}
	}
	// An outer folder first: it would hide what is mounted in it.
	slices.Sort(c.Keep)
	c.Keep = slices.Compact(c.Keep)
	if c.Pool != "" {
		path, err := filepath.Abs(c.Pool)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return fmt.Errorf("the pool: %w", err)
		}
		c.Pool = path
	}
	return nil
}

// hidden says whether hosts have something of their own where path is.
func hidden(path string) bool {
	for _, dir := range []string{"/tmp/", "/dev/shm/", "/srv/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}

// tools is what a lab calls; all of them are part of a small Debian or what
// build/setup installs.
var tools = []string{"ip", "mount", "nsenter", "taskset", "unshare", "mpiexec.mpich", "gcc"}

// supported says whether hosts can be made, and if not, why.
func supported(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: namespaces with devices and mounts need root", ErrUnsupported)
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: %w (build/setup installs it)", ErrUnsupported, err)
		}
	}
	// A container may be root and yet not be allowed to.
	out, err := exec.CommandContext(ctx, "unshare", "-n", "-u", "-i", "-p", "-m", "--fork", "sh", "-c",
		"mount -t proc proc /proc && ip link add v1 type veth peer name v2").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %v: %s", ErrUnsupported, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// begin claims the name and records what is going to be made.
func (c *Config) begin() (*Lab, error) {
	self, err := process.Of(os.Getpid())
	if err != nil {
		return nil, err
	}
	l := &Lab{Name: c.Name, Owner: self, Pool: c.Pool, Keep: c.Keep}
	cpus, err := allowedCPUs()
	if err != nil {
		return nil, err
	}
	for k := 1; k <= c.Hosts; k++ {
		name := "h" + strconv.Itoa(k)
		l.Hosts = append(l.Hosts, Host{
			Name: name, Address: address(network, k),
			Pool: filepath.Join("/srv", name, "pool"), CPUs: share(cpus, k-1, c.Hosts),
		})
	}
	if err := os.MkdirAll(Dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(Dir, l.Name), 0o755); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("lab %s is up already; take it down, or choose another name", l.Name)
		}
		return nil, err
	}
	if l.Pool == "" {
		l.Pool, l.MadePool = "/dev/shm/cmpi-lab-"+l.Name, true
	}
	if err := l.write(); err != nil {
		return nil, errors.Join(err, Down(l.Name))
	}
	if l.MadePool {
		if err := makePool(l.Pool, c.PoolSize); err != nil {
			return nil, errors.Join(err, Down(l.Name))
		}
	}
	return l, nil
}

func makePool(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("the pool: %w", err)
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// share is host i's part of the processors: as many for each host, or one that
// others have, too. Without it the launchers of all hosts would take the first.
func share(cpus []int, i, hosts int) []int {
	if n := len(cpus) / hosts; n > 0 {
		return cpus[i*n : (i+1)*n]
	}
	return []int{cpus[i%len(cpus)]}
}

// allowedCPUs are the processors that this process may use.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("the processors of this process: %w", err)
	}
	var cpus []int
	for i := range len(set) * strconv.IntSize {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// Down takes the lab down.
func (l *Lab) Down() error { return Down(l.Name) }

// Host finds a host by name.
func (l *Lab) Host(name string) (*Host, error) {
	for i := range l.Hosts {
		if l.Hosts[i].Name == name {
			return &l.Hosts[i], nil
		}
	}
	return nil, fmt.Errorf("lab %s has no host %q; it has h1 to h%d", l.Name, name, len(l.Hosts))
}

//go:embed files/host.sh
var hostScript string

//go:embed files/launch.sh
var launchScript string

//go:embed files/mpiexec.sh
var mpiexecScript string

//go:embed files/login.sh
var loginScript string

//go:embed files/finalize.c
var finalizeSource string

// writeTools puts into the lab's folder what its hosts and users run.
func (l *Lab) writeTools(ctx context.Context) error {
	var hosts strings.Builder
	var names []string
	fmt.Fprintf(&hosts, "127.0.0.1 localhost\n%s %s\n", address(network, headNumber), headName)
	for _, h := range l.Hosts {
		fmt.Fprintf(&hosts, "%s %s\n", h.Address, h.Name)
		names = append(names, h.Name)
	}
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"hosts", hosts.String(), 0o644},
		{"names", strings.Join(names, ",") + "\n", 0o644},
		{"host.sh", hostScript, 0o755},
		{"launch", launchScript, 0o755},
		{"mpiexec", mpiexecScript, 0o755},
		{"login", loginScript, 0o755},
		{"finalize.c", finalizeSource, 0o644},
	} {
		if err := os.WriteFile(l.path(f.name), []byte(f.text), f.mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(l.path("aside"), 0o755); err != nil {
		return err
	}
	return run(ctx, "", "gcc", "-O2", "-shared", "-fPIC", "-o", l.FinalizeFix(), l.path("finalize.c"))
}

// Mpiexec is the path of a program like MPICH's mpiexec, with the same
// arguments, that starts ranks in the hosts. CMPILAB_HOSTS chooses some of them.
func (l *Lab) Mpiexec() string { return l.path("mpiexec") }

// FinalizeFix is the path of a library that must be preloaded into MPICH
// programs of three ranks or more; its source says why. Mpiexec preloads it
// unless LD_PRELOAD is given.
func (l *Lab) FinalizeFix() string { return l.path("finalize.so") }

// run runs a command that takes no time to speak of; its error says what it printed.
func run(ctx context.Context, stdin string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
