package arena

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestCodesAreTheHeaders: every code exists in cxl_shm.h, and those of the
// header that name an error of this package are given out.
func TestCodesAreTheHeaders(t *testing.T) {
	h, err := os.ReadFile("../c/include/cxl_shm.h")
	if err != nil {
		t.Fatal(err)
	}
	inHeader := map[int]string{}
	for _, m := range regexp.MustCompile(`(CXL_SHM_E_\w+) = (-\d+)`).FindAllStringSubmatch(string(h), -1) {
		n, _ := strconv.Atoi(m[2])
		inHeader[n] = m[1]
	}
	given := map[int]bool{}
	for _, c := range codes {
		given[c.code] = true
		if inHeader[c.code] == "" {
			t.Errorf("%v has code %d, which the header lacks", c.err, c.code)
		}
		if got := Code(wrap(opOpen, "pool", "", faultf(c.err, "detail"))); got != c.code {
			t.Errorf("%v has code %d, want %d", c.err, got, c.code)
		}
	}
	// Arguments, handles and settings are the C side's own.
	for n, name := range inHeader {
		if n < -4 && !given[n] {
			t.Errorf("no error has code %s", name)
		}
	}
	if Code(nil) != 0 || Code(errors.New("else")) != -20 {
		t.Error("nil or an unknown error")
	}
}
