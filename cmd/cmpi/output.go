package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os/user"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// exitStatus is an error that was reported already: it is how the command ends.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// jsonFlag adds --json to a command.
func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// sizeText is a number of bytes for people: 4096 B, 1.5 MiB.
func sizeText(n int64) string {
	const units = "KMGTP"
	if n < 10<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/1024, 0
	for x >= 1024 && unit < len(units)-1 {
		x, unit = x/1024, unit+1
	}
	return fmt.Sprintf("%s %ciB", strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0"), units[unit])
}

// ageText is a duration for people in one unit: 3s, 5m, 2h, 4d.
func ageText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// safeName is a name from a pool for a terminal: as it is, or quoted when it
// holds what a terminal or a shell would take for something else.
func safeName(name string) string {
	if name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"'
	}) {
		return name
	}
	return strconv.Quote(name)
}

// unquoteName takes what safeName gives for a name.
func unquoteName(s string) string {
	if strings.HasPrefix(s, `"`) {
		if name, err := strconv.Unquote(s); err == nil {
			return name
		}
	}
	return s
}

// userName is the name of a user id here, or its number.
func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// plural is "1 object", "2 objects".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
