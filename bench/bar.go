package bench

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// lineEvery is how long nothing is said in a file.
const lineEvery = 30 * time.Second

// Progress gives an Options.Progress that draws a bar on stderr if that is a
// terminal; in a file it writes a line now and then that begins with the name of
// the program.
func Progress(program string) func(done, total int, what string) {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		return bar(os.Stderr)
	}
	return lines(os.Stderr, program, lineEvery)
}

func bar(w io.Writer) func(done, total int, what string) {
	var bar *progressbar.ProgressBar
	return func(done, total int, what string) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30),
				progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
		}
		bar.Describe(fmt.Sprintf("%-34s", what))
		_ = bar.Set(done) // a bar that can't be drawn is no reason to stop
	}
}

func lines(w io.Writer, program string, every time.Duration) func(done, total int, what string) {
	last := time.Now()
	return func(done, total int, what string) {
		if what != "" && time.Since(last) >= every {
			last = time.Now()
			fmt.Fprintf(w, "%s: %d of %d done, now %s\n", program, done, total, what)
		}
	}
}
