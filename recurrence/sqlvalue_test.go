package recurrence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

var (
	_ sql.Scanner   = (*Recurrence)(nil)
	_ driver.Valuer = Recurrence{}
	_ flag.Value    = (*Recurrence)(nil)
)

func TestScanReadsWhatDriversReturn(t *testing.T) {
	before := Recurrence{Frequency: Hour}
	for _, c := range []struct {
		claim string
		src   any
		want  string // the canonical JSON; "": refused
		code  Code
	}{
		{"a string", `{"frequency":"day","interval":2}`, `{"frequency":"day","interval":2}`, ""},
		{"bytes", []byte(`{"frequency":"day"}`), `{"frequency":"day"}`, ""},
		{"the form of a jsonb column", []byte(` { "schedule": {"hours": 9}, "frequency": "Day" }`), `{"frequency":"day","schedule":{"hours":[9]}}`, ""},
		{"an empty object", `{}`, `{}`, ""},
		{"JSON after a byte order mark", "\ufeff" + `{"frequency":"day"}`, `{"frequency":"day"}`, ""},
		{"a cron line after a byte order mark", "\ufeff0 9 * * *", `{"cron":"0 9 * * *"}`, ""},
		{"a cron line", "0 9 * * 1-5", `{"cron":"0 9 * * 1-5"}`, ""},
		{"a cron line with a zone", []byte("TZ=Asia/Tokyo 0 9 * * *"), `{"timeZone":"Asia/Tokyo","cron":"0 9 * * *"}`, ""},
		{"@every", "@every 90m", `{"frequency":"minute","interval":90,"immediateRun":false}`, ""},
		{"NULL", nil, "", CodeSyntax},
		{"empty bytes that are nil", []byte(nil), "", CodeCronSyntax},
		{"an empty string", "", "", CodeCronSyntax},
		{"JSON null", "null", "", CodeCronSyntax},
		{"a number", int64(5), "", CodeSyntax},
		{"a mistake", `{"frequency":"day","schedule":{"hours":[24]}}`, "", CodeHoursRange},
		{"JSON that ends early", `{"frequency":"day"`, "", CodeSyntax},
	} {
		got := before
		err := got.Scan(c.src)
		if c.want == "" {
			if codesOf(err) != string(c.code) || !got.Equal(before) {
				t.Errorf("%s: got %v and the rule %v, want %s and an unchanged rule", c.claim, err, got, c.code)
			}
			continue
		}
		if text, _ := got.MarshalJSON(); err != nil || string(text) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.claim, text, err, c.want)
		}
	}
	if err := new(Recurrence).Scan(nil); err == nil || !strings.Contains(err.Error(), "sql.Null[recurrence.Recurrence]") {
		t.Errorf("NULL: %v, want an error that names sql.Null", err)
	}
}

// Scan must not keep the bytes: a driver reuses them for the next row.
func TestScanKeepsNoBytesOfTheDriver(t *testing.T) {
	data := []byte(`{"cron":"0 9 * * *","timeZone":"Europe/Berlin","except":[{"dates":["12-25"]}]}`)
	var r Recurrence
	if err := r.Scan(data); err != nil {
		t.Fatal(err)
	}
	want := r.String()
	for i := range data {
		data[i] = 'x'
	}
	if got := r.String(); got != want {
		t.Errorf("after the next row: %q, want %q", got, want)
	}
}

func TestValueIsReadBackByScan(t *testing.T) {
	read := 0
	for _, c := range casesOf(t, "calendar_cases.json") {
		rule, err := Parse(c.Job)
		if err != nil {
			continue
		}
		v, err := rule.Value()
		if err != nil {
			t.Fatal(c.ID, err)
		}
		if _, is := v.(string); !is || !driver.IsValue(v) {
			t.Fatalf("%s: the value is a %T, want a string", c.ID, v)
		}
		var back Recurrence
		if err := back.Scan(v); err != nil || !back.Equal(rule) {
			t.Errorf("%s: %v: read back as %v, %v", c.ID, v, back, err)
		}
		read++
	}
	if read < 300 {
		t.Errorf("%d rules were read back: this test reads the cases wrongly", read)
	}
	if _, err := (Recurrence{Frequency: Day, Interval: 600}).Value(); codesOf(err) != string(CodeIntervalRange) {
		t.Errorf("an invalid rule: %v, want interval_range", err)
	}
}

// oneRow is a driver of database/sql whose only row has the arguments of the query.
type oneRow struct {
	values []driver.Value
	read   bool
}

func (r *oneRow) Connect(context.Context) (driver.Conn, error) { return r, nil }
func (r *oneRow) Driver() driver.Driver                        { return nil }
func (r *oneRow) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (r *oneRow) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (r *oneRow) Close() error                                 { return nil }
func (r *oneRow) Columns() []string                            { return make([]string, len(r.values)) }

func (r *oneRow) QueryContext(_ context.Context, _ string, args []driver.NamedValue) (driver.Rows, error) {
	rows := &oneRow{}
	for _, arg := range args {
		rows.values = append(rows.values, arg.Value)
	}
	return rows, nil
}

func (r *oneRow) Next(row []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	copy(row, r.values)
	return nil
}

// database/sql itself: a rule, a pointer and a sql.Null go in as arguments and come out of a row, with and without NULL.
func TestARuleGoesThroughDatabaseSQL(t *testing.T) {
	db := sql.OpenDB(&oneRow{})
	defer db.Close()
	rule := Recurrence{Cron: "0 9 * * 1-5", TimeZone: "Europe/Berlin"}
	var none *Recurrence
	var got Recurrence
	var pointer, noPointer *Recurrence
	var null, noNull sql.Null[Recurrence]
	row := db.QueryRow("SELECT", rule, &rule, none, sql.Null[Recurrence]{V: rule, Valid: true}, sql.Null[Recurrence]{})
	if err := row.Scan(&got, &pointer, &noPointer, &null, &noNull); err != nil {
		t.Fatal(err)
	}
	if !got.Equal(rule) || pointer == nil || !pointer.Equal(rule) || noPointer != nil || !null.Valid || !null.V.Equal(rule) || noNull.Valid {
		t.Errorf("got %v, %v, %v, %v, %v", got, pointer, noPointer, null, noNull)
	}
	if err := db.QueryRow("SELECT", none).Scan(&got); codesOf(err) != string(CodeSyntax) {
		t.Errorf("NULL: %v, want syntax", err)
	}
}

func TestARuleIsAFlag(t *testing.T) {
	parse := func(args ...string) (Recurrence, string, error) {
		flags := flag.NewFlagSet("backup", flag.ContinueOnError)
		var output strings.Builder
		flags.SetOutput(&output)
		rule, unset := Recurrence{Cron: "0 3 * * *"}, Recurrence{}
		flags.Var(&rule, "at", "when the backup runs, as `JSON or cron text`")
		flags.Var(&unset, "also", "more runs")
		err := flags.Parse(args)
		return rule, output.String(), err
	}
	for _, c := range []struct {
		claim string
		args  []string
		want  string
	}{
		{"the default", nil, `{"cron":"0 3 * * *"}`},
		{"cron text", []string{"-at", "30 2 * * *"}, `{"cron":"30 2 * * *"}`},
		{"JSON", []string{`-at={"frequency":"day"}`}, `{"frequency":"day"}`},
		{"the last value wins, and nothing remains of the one before", []string{"-at", "CRON_TZ=Asia/Tokyo 30 2 * * *", "-at", "@every 1h"}, `{"frequency":"hour","interval":1,"immediateRun":false}`},
	} {
		rule, _, err := parse(c.args...)
		if text, _ := rule.MarshalJSON(); err != nil || string(text) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.claim, text, err, c.want)
		}
	}
	for _, args := range [][]string{{"-at", ""}, {"-at", "61 * * * *"}, {"-at", `{"frequency":"fortnight"}`}} {
		if rule, output, err := parse(args...); err == nil || rule.Cron != "0 3 * * *" || !strings.Contains(output, "recurrence: ") {
			t.Errorf("%q: %v, %q, rule %v; want the error of the text and an unchanged rule", args, err, output, rule)
		}
	}
	if _, output, _ := parse("-h"); !strings.Contains(output, "default Every day at 03:00 UTC") || strings.Count(output, "default") != 1 {
		t.Errorf("the help does not show the default of -at, and only this: %s", output)
	}
}
