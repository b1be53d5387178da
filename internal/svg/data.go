package svg

import (
	"math"
	"strconv"
	"strings"
)

// integer and number format values for data-… attributes. A number has four significant digits, which is finer than a pixel.
func integer(n int64) string { return strconv.FormatInt(n, 10) }

func number(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil || rounded == 0 {
		return "0"
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// numbers returns a JSON array, with null for NaN.
func numbers(values []float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = "null"
		if !math.IsNaN(v) {
			texts[i] = number(v)
		}
	}
	return "[" + strings.Join(texts, ",") + "]"
}
