package main

import "strings"

// lastLines are the last n lines of text.
func lastLines(text string, n int) string {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1] // what follows the last newline
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

// indent sets text off from the lines around it.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
