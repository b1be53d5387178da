package top

import (
	"fmt"
	"math"
	"strings"

	"github.com/chimejobs/chime/internal/overview"
)

const bars = "▁▂▃▄▅▆▇█"

// spark draws values, scaled to the largest. An unknown value is a gap. Without values the text is empty.
func spark(values []float64) string {
	most := 0.0
	for _, v := range values {
		if v > most { // false for NaN
			most = v
		}
	}
	all := []rune(bars)
	var b strings.Builder
	for _, v := range values {
		if math.IsNaN(v) {
			b.WriteByte(' ')
			continue
		}
		level := 0
		if most > 0 {
			level = int(v / most * float64(len(all)-1))
		}
		b.WriteRune(all[min(max(level, 0), len(all)-1)])
	}
	return b.String()
}

// squeeze reduces values to means, so that a spark with a number of cells shows all of them.
func squeeze(values []float64, cells int) []float64 {
	if len(values) <= cells {
		return values
	}
	few := make([]float64, cells)
	for i := range few {
		from, to := i*len(values)/cells, (i+1)*len(values)/cells
		known, total := 0, math.NaN()
		for _, v := range values[from:to] {
			if total = overview.Plus(total, v); !math.IsNaN(v) {
				known++
			}
		}
		few[i] = total / float64(known)
	}
	return few
}

// gauge draws a progress from 0 to 1.
func gauge(part float64) string {
	const cells = 6
	full := int(min(max(part, 0), 1)*cells + 0.5)
	return strings.Repeat("▓", full) + strings.Repeat("░", cells-full) + fmt.Sprintf(" %d %%", int(part*100+0.5))
}
