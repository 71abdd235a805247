package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"cmpi/tests/process"
)

const (
	// network is the first three numbers of the hosts' addresses; slowNetwork of
	// those in the slow network.
	network     = "10.77.0"
	slowNetwork = "10.78.0"
	// headNumber is the last number of the head's address.
	headNumber = 254
	bridge     = "br0"
	// Device is the network device of the first network in each host.
	Device = "eth0"
)

// address is the address of host number k.
func address(network string, k int) string { return network + "." + strconv.Itoa(k) }

// port is the head's end of a host's cable.
func (h *Host) port() string { return "v" + strconv.Itoa(h.number()) }

// inSpace runs lines of ip -batch in the network namespace of a process.
func inSpace(ctx context.Context, p process.Process, lines ...string) error {
	return run(ctx, strings.Join(lines, "\n")+"\n", "nsenter", "-t", strconv.Itoa(p.PID), "-n", "--", "ip", "-batch", "-")
}

// startBridge makes the switch of the first network.
func (l *Lab) startBridge(ctx context.Context) error {
	return inSpace(ctx, l.Head,
		"link set lo up",
		// An address of its own: it would change with the ports, and peers remember it.
		fmt.Sprintf("link add %s address 02:00:00:00:00:%02x type bridge", bridge, headNumber),
		"link set "+bridge+" up",
		fmt.Sprintf("addr add %s/24 dev %s", address(network, headNumber), bridge))
}

// connect gives a host its place in the first network.
func (l *Lab) connect(ctx context.Context, h *Host) error {
	if err := inSpace(ctx, l.Head,
		// The same network card after each start: peers remember it.
		fmt.Sprintf("link add %s type veth peer name %s address 02:00:00:00:00:%02x netns %d", h.port(), Device, h.number(), h.Init.PID),
		fmt.Sprintf("link set %s master %s up", h.port(), bridge)); err != nil {
		return err
	}
	return inSpace(ctx, h.Init,
		"link set lo up",
		fmt.Sprintf("addr add %s/24 dev %s", h.Address, Device),
		"link set "+Device+" up")
}

// Cut takes a host's network away. Nobody is told: no connection is closed.
func (l *Lab) Cut(ctx context.Context, name string) error { return l.link(ctx, name, "down") }

// Mend gives it back.
func (l *Lab) Mend(ctx context.Context, name string) error { return l.link(ctx, name, "up") }

func (l *Lab) link(ctx context.Context, name, state string) error {
	h, err := l.Host(name)
	if err != nil {
		return err
	}
	if !h.Init.Alive() {
		return fmt.Errorf("host %s is down", name)
	}
	if l.Slow != nil {
		if err := inSpace(ctx, h.Init, "link set "+SlowDevice+" "+state); err != nil {
			return err
		}
	}
	return inSpace(ctx, l.Head, fmt.Sprintf("link set %s %s", h.port(), state))
}
