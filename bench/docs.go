package bench

import (
	"bytes"
	"fmt"
	"os"
)

// The measured part of a page is between these two lines.
const (
	beginMarker = "<!-- measured: begin -->\n"
	endMarker   = "<!-- measured: end -->\n"
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
	page, err = replaceMeasured(page, tables.Bytes())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, page, 0o644)
}

// replaceMeasured puts text between the markers of page.
func replaceMeasured(page, text []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(beginMarker))
	if !ok {
		return nil, fmt.Errorf("no line %q", beginMarker)
	}
	_, after, ok := bytes.Cut(rest, []byte(endMarker))
	if !ok {
		return nil, fmt.Errorf("no line %q", endMarker)
	}
	return bytes.Join([][]byte{before, []byte(beginMarker), text, []byte(endMarker), after}, nil), nil
}
