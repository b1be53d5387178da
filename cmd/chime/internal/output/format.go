package output

import (
	"fmt"
	"io"
)

// A Format is a value of -o.
type Format string

// The formats.
const (
	Table Format = "table" // for people
	JSON  Format = "json"  // one value; a list is {"items": […], "next": "…"}
	JSONL Format = "jsonl" // a line for each item
	Name  Format = "name"  // the name or ID of each item on a line
)

// Valid reports whether the format exists.
func (f Format) Valid() bool { return f == Table || f == JSON || f == JSONL || f == Name }

// An Item is an item of a list.
type Item struct {
	Name  string   // or its ID
	Value any      // as JSON
	Cells []string // one for each column
}

// A List is what most commands print.
type List struct {
	Header  string // the line above the table that names the zone of its times; empty: no line
	Columns []Column
	Items   []Item
	Next    string // the value of --after for the next page; empty: this is the last one
}

// A Printer prints in one format.
type Printer struct {
	Out    io.Writer
	Err    io.Writer // for messages that other programs do not read
	Format Format
	Width  int // columns of the terminal; 0: it is not a terminal, and nothing is cut
}

// List prints a list.
func (p Printer) List(l List) error {
	switch p.Format {
	case JSON:
		values := make([]any, len(l.Items))
		for i, item := range l.Items {
			values[i] = item.Value
		}
		return p.value(struct {
			Items []any  `json:"items"`
			Next  string `json:"next,omitempty"`
		}{values, l.Next})
	case JSONL:
		for _, item := range l.Items {
			if err := p.line(item.Value); err != nil {
				return err
			}
		}
		return p.noteMore(l.Next)
	case Name:
		for _, item := range l.Items {
			if _, err := fmt.Fprintln(p.Out, Printable(item.Name)); err != nil {
				return err
			}
		}
		return p.noteMore(l.Next)
	}
	rows := make([][]string, len(l.Items))
	for i, item := range l.Items {
		rows[i] = item.Cells
	}
	if l.Header != "" {
		if _, err := fmt.Fprintln(p.Out, Printable(l.Header)); err != nil {
			return err
		}
	}
	if err := p.table(l.Columns, rows); err != nil || l.Next == "" {
		return err
	}
	_, err := fmt.Fprintf(p.Out, "\nThere are more: add --after %s\n", shellWord(l.Next))
	return err
}

// noteMore prints on standard error that there are more items: other programs read standard output.
func (p Printer) noteMore(next string) error {
	if next == "" {
		return nil
	}
	_, err := fmt.Fprintf(p.Err, "chime: there are more: add --after %s\n", shellWord(next))
	return err
}

// Item prints one item: as JSON, its name, or as the text for people.
func (p Printer) Item(name string, value any, text string) error {
	switch p.Format {
	case JSON:
		return p.value(value)
	case JSONL:
		return p.line(value)
	case Name:
		text = Printable(name) + "\n"
	}
	_, err := io.WriteString(p.Out, text)
	return err
}
