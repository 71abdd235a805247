package bench

import (
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
)

// Bar is an Options.Progress that draws a bar on the terminal w.
func Bar(w io.Writer) func(done, total int, what string) {
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
