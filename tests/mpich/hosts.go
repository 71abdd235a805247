package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"cmpi/tests/hosts/lab"
)

// labs counts those of this process.
var labs atomic.Int32

// labPool is the size of the pool that the tests share, bytes: some make windows
// of hundreds of MiB.
const labPool = 4 << 30

// newLab makes hosts for the tests (package lab). keep are the folders of the
// suite and of the library.
func newLab(ctx context.Context, hosts int, pool int64, keep []string) (*lab.Lab, error) {
	name := fmt.Sprintf("mpich-%d-%d", os.Getpid(), labs.Add(1))
	l, err := lab.Up(ctx, lab.Config{Name: name, Hosts: hosts, PoolSize: pool, Keep: keep})
	if err != nil {
		return nil, fmt.Errorf("hosts for the tests: %w", err)
	}
	return l, nil
}
