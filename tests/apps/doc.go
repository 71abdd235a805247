// Package apps runs programs of others, as Debian ships them: NetPIPE, the testers
// of ScaLAPACK, parallel HDF5 and NWChem. Each runs natively and over the library
// with the same input, and both results must be the same but for what no two
// runs share: times, rates, and the last digits of residuals.
//
//	go test ./tests/apps                      the quick ones, a minute
//	go test ./tests/apps -full -timeout 60m   all (make apps)
//
// A program whose package isn't installed is skipped; build/setup --apps installs
// all of them. README.md says what is compared for each program.
package apps
