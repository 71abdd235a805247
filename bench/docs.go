package bench

import (
	"bytes"
	"fmt"
	"os"
)

// The measured part of a page is between these two lines; what is measured
// between hosts has a part of its own.
const (
	beginMarker      = "<!-- measured: begin -->\n"
	endMarker        = "<!-- measured: end -->\n"
	beginHostsMarker = "<!-- measured between hosts: begin -->\n"
	endHostsMarker   = "<!-- measured between hosts: end -->\n"
)

// UpdatePage puts the report's tables between the markers of a markdown page
// and leaves the rest of it alone.
func (r *Report) UpdatePage(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var tables bytes.Buffer
	r.WriteMarkdown(&tables)
	begin, end := beginMarker, endMarker
	if r.Hosts {
		begin, end = beginHostsMarker, endHostsMarker
	}
	page, err = replaceMeasured(page, tables.Bytes(), begin, end)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, page, 0o644)
}

// replaceMeasured puts text between the markers of page.
func replaceMeasured(page, text []byte, begin, end string) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(begin))
	if !ok {
		return nil, fmt.Errorf("no line %q", begin)
	}
	_, after, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return nil, fmt.Errorf("no line %q", end)
	}
	return bytes.Join([][]byte{before, []byte(begin), text, []byte(end), after}, nil), nil
}
