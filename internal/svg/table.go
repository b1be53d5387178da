package svg

// A Table has the data of a chart as text, for "Show as table". Its texts are as the caller gave them: they are to be escaped where they are shown,
// which html/template does.
type Table struct {
	Caption string
	Header  []string
	Rows    [][]string // each as long as Header; its first text is the row's heading
}

// nothing stands in a table where there is no value.
const nothing = "–"
