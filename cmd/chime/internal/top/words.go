package top

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/overview"
)

// number formats a number as it is.
func number(n int) string { return strconv.Itoa(n) }

// count formats a number for people: 1,204.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// rate formats how many there are per time: 0.4, 12, 1,204.
func rate(r float64) string {
	if r > 0 && r < 9.95 {
		return strconv.FormatFloat(max(r, 0.1), 'f', 1, 64)
	}
	return count(int64(r + 0.5))
}

// span formats a duration in at most two units: 2 ms, 3.2 s, 4m 02s, 2h 05m, 9d 4h.
func span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}

// ago formats how long something is past: 12 s ago.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours())/24)
}

// plural formats a number of things: 1 job, 2 jobs.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(int64(n)) + " " + noun + "s"
}

const bars = "▁▂▃▄▅▆▇█"

// spark draws values, scaled to the largest, and a gap where nothing is known. Without any it is empty.
func spark(values []float64) string {
	most := 0.0
	for _, v := range values {
		if v > most { // not of NaN
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

// squeeze takes means of values so that few are left, for a spark of so many cells over all of them.
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

// gauge draws how far something has come, from 0 to 1.
func gauge(part float64) string {
	const cells = 6
	full := int(min(max(part, 0), 1)*cells + 0.5)
	return strings.Repeat("▓", full) + strings.Repeat("░", cells-full) + fmt.Sprintf(" %d %%", int(part*100+0.5))
}
