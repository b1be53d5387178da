package svg

// A Table has the data of a chart as text, for "Show as table". Its texts are not escaped: they have to be escaped where they are shown, which
// html/template does.
type Table struct {
	Caption string
	Header  []string
	Rows    [][]string // each is as long as Header, and its first text is the row's heading
}

// nothing is shown in a table for a missing value.
const nothing = "–"
