// Package settings reads the CMPI_* environment variables.
//
// Every variable has one row in the table of this package: its name, its
// default, what it means, and how its value is read. The library (shim), the
// command and the documentation all take it from there, so that none of them
// can know a variable that the others don't.
//
// The one invariant: Parse either understands every CMPI_* variable it is
// given, or returns an error that says which one it didn't and what was
// probably meant. A misspelt setting is never silently ignored.
package settings
