package docs_test

import (
	"container/list"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// A goValue is a row of the table on docs/arguments.md.
type goValue struct {
	what string // Markdown
	in   any
	got  any    // the value that arrives, if it is not in
	note string // the difference of the value that arrives
}

// a returns a pointer to a value.
func a[T any](v T) *T { return &v }

// field puts a value into a struct, where arguments usually are.
func field[T any](v T) any { return struct{ V T }{v} }

func mustURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

func goValues() []goValue {
	at := time.Date(2026, 7, 1, 9, 0, 0, 5, time.UTC)
	address, id := netip.MustParseAddr("10.0.0.1"), uuidValue{1, 2, 3}
	type m = map[string]any
	return []goValue{
		{what: "`int`, `int8` … `uint64`", in: []any{a(math.MinInt64)}[0]},
		{what: "`float64`, with NaN and Inf", in: math.Inf(1)},
		{what: "`string`, any bytes", in: "a\xff"},
		{what: "`bool`", in: true},
		{what: "`[]byte` at the top", in: []byte("5"), note: "the same bytes, which are stored unchanged"},
		{what: "`[]byte` in a struct", in: field([]byte{0, 255})},
		{what: "`json.RawMessage` at the top", in: json.RawMessage(`{"a": 1}`)},
		{what: "`json.RawMessage` of one digit", in: json.RawMessage("5")},
		{what: "`json.RawMessage` in a struct", in: field(json.RawMessage("5"))},
		{what: "`json.Number`", in: field(json.Number("12345678901234567890"))},
		{what: "a slice that is nil, or empty", in: [][]int{nil, {}}},
		{what: "`[3]int`", in: [3]int{1, 2, 3}},
		{what: "`map[string]string`", in: map[string]string{"a": "b"}},
		{what: "`map[int]string`", in: map[int]string{1: "a"}},
		{what: "a pointer, also nil", in: []*int{a(1), nil}},
		{what: "`time.Time`", in: field(at), got: field(at.Local()), note: "the same instant, in the local time zone"},
		{what: "`time.Duration`", in: field(time.Minute)},
		{what: "`any` with a whole number", in: m{"a": 5}, got: m{"a": int64(5)}, note: "an `int64`; from 128 on a `uint64`"},
		{what: "`any` with a struct", in: m{"a": Named{"x"}}, got: m{"a": m{"Name": "x"}}, note: "a `map[string]any`"},
		{what: "`any` with `[]byte`", in: m{"a": []byte("x")}, got: m{"a": "x"}, note: "a string of these bytes"},
		{what: "`error` in a field", in: field(os.ErrNotExist), got: field(errors.New(os.ErrNotExist.Error())), note: "an error with the same text"},
		{what: "an unexported field", in: person{1, "x"}, got: person{ID: 1}, note: "its zero value: it is not stored, as in JSON"},
		{what: "a field with `json:\"-\"`", in: struct {
			A int `json:"-"`
			B int
		}{1, 2}, got: struct {
			A int `json:"-"`
			B int
		}{0, 2}, note: "its zero value: it is not stored"},
		{what: "a field with `json:\"-,\"`", in: struct {
			//lint:ignore SA5008 the tag is what is tested
			A int `json:"-,"`
		}{1}},
		{what: "an embedded struct", in: struct {
			Named
			ID int
		}{Named{"x"}, 1}},
		{what: "an embedded pointer that is nil", in: struct {
			*Named
			ID int
		}{nil, 1}},
		{what: "a number with methods for JSON", in: field(status(2))},
		{what: "a struct with unexported fields and methods for JSON", in: field(moneyValue{1, "EUR"})},
		{what: "`sql.NullString`", in: field(sql.NullString{String: "x", Valid: true})},
		{what: "`sql.Null[T]`", in: field(sql.Null[int]{V: 1, Valid: true})},
		{what: "`sql.NullTime`, not valid", in: field(sql.NullTime{})},
		{what: "`netip.Addr`", in: field(address)},
		{what: "`netip.Addr` with `omitempty`", in: struct {
			IP netip.Addr `json:"ip,omitempty"`
		}{address}},
		{what: "`netip.Prefix`", in: field(netip.MustParsePrefix("10.0.0.0/8"))},
		{what: "`net.IP`", in: field(net.IPv4(10, 0, 0, 1))},
		{what: "`net.IPNet`", in: field(net.IPNet{IP: net.IP{10, 0, 0, 0}, Mask: net.IPMask{255, 0, 0, 0}}), got: field(net.IPNet{IP: net.IPv4(10, 0, 0, 0), Mask: net.IPMask{255, 0, 0, 0}}), note: "the same network"},
		{what: "`url.URL`, `*url.URL`", in: struct {
			U url.URL
			P *url.URL
		}{*mustURL("https://a:b@x/y?z=1"), mustURL("/")}},
		{what: "`big.Int`, `*big.Int`", in: struct {
			I big.Int
			P *big.Int
		}{*big.NewInt(123), big.NewInt(-5)}},
		{what: "`*big.Rat`", in: field(big.NewRat(1, 3))},
		{what: "`*big.Float`", in: field(big.NewFloat(0.5)), got: field(new(big.Float).SetPrec(64).SetFloat64(0.5)), note: "the number of its shortest decimal text, with 64 bits"},
		{what: "`http.Header`", in: http.Header{"A": {"b"}}},
		{what: "`mail.Address`", in: mail.Address{Name: "a", Address: "a@b"}},
		{what: "`*regexp.Regexp`", in: field(regexp.MustCompile("a+"))},
		{what: "`decimal.Decimal` (shopspring)", in: field(newDecimal(19999, -2))},
		{what: "the same with `omitempty`", in: struct {
			D decimalNumber `json:"d,omitempty"`
		}{newDecimal(19999, -2)}},
		{what: "`decimal.NullDecimal`", in: field(struct {
			Decimal decimalNumber
			Valid   bool
		}{newDecimal(5, 0), true})},
		{what: "`uuid.UUID` (google), `ulid.ULID` (oklog)", in: field(id)},
		{what: "`uuid.NullUUID`", in: []nullUUID{{id, true}}},
		{what: "`bson.ObjectID`, `xid.ID`", in: field(objectID{1})},
		{what: "`money.Money` (Rhymond)", in: []moneyValue{{500, "EUR"}, {}}},
		{what: "the same in an `any`", in: m{"a": moneyValue{500, "EUR"}}, got: m{"a": m{"amount": 500., "currency": "EUR"}}, note: "what its JSON decodes to"},
		{what: "`null.String` (guregu), also a valid empty one", in: []nullString{{"x", true}, {"", true}, {}}},
		{what: "an `Option[T]` with methods for JSON only", in: []option[string]{{true, "x"}, {}}},
		{what: "`pgtype.Numeric` (jackc)", in: field(numeric{Int: big.NewInt(5), Exp: -2, Valid: true})},
		{what: "`civil.Date` (Google Cloud)", in: field(civilDate{2026, 7, 1})},
		{what: "`*timestamppb.Timestamp` (protobuf)", in: &timestamp{Seconds: 5, Nanos: 7}},
		{what: "`*structpb.Struct` (protobuf)", in: &protoStruct{Fields: map[string]*protoValue{"a": {&protoText{"x"}}}}},
		{what: "a protobuf message with `oneof`", in: field(protoValue{&protoText{"x"}})},
		{what: "an interface with methods", in: field[fmt.Stringer](time.Second)},
		{what: "an error at the top", in: errors.New("x")},
		{what: "a struct without exported fields and without methods", in: field(onlyHidden{1})},
		{what: "`list.List`", in: field(list.New())},
		{what: "`sync.Mutex`", in: &struct{ Mu sync.Mutex }{}},
		{what: "`atomic.Int64`", in: &struct{ N atomic.Int64 }{}},
		{what: "a struct with a method for encoding JSON only", in: field(writesOnly{1})},
		{what: "a string that `MarshalText` writes as `***`", in: field(hiddenText("secret"))},
		{what: "a struct that embeds `netip.Addr`, and has another field", in: endpoint{address, 80}},
		{what: "a struct that embeds `decimal.Decimal`, and has another field", in: priceTag{newDecimal(5, 0), "EUR"}},
		{what: "a field that hides one of an embedded struct", in: struct {
			Named
			Name string
		}{Named{"x"}, "y"}},
		{what: "`map[string]big.Int`", in: map[string]big.Int{"a": *big.NewInt(1)}},
		{what: "a channel, a function, a complex number, `uintptr`", in: field(make(chan int))},
		{what: "`json.RawMessage` with text that is not JSON", in: json.RawMessage("a")},
	}
}

// row returns a row of the table: what Encode and Decode do with the value.
func (v goValue) row(t *testing.T) string {
	payload, err := chime.Encode(v.in)
	if invalid := (*chime.InvalidError)(nil); errors.As(err, &invalid) {
		limit, _, _ := strings.Cut(invalid.Limit, ":")
		return fmt.Sprintf("| %s | – | refused: `%s` must be %s |", v.what, invalid.Field, strings.ReplaceAll(limit, "|", `\|`))
	}
	if err != nil {
		t.Errorf("%s: %v", v.what, err)
		return ""
	}
	format := "msgpack"
	switch _, raw := v.in.([]byte); {
	case raw:
		format = "unchanged"
	case len(payload) > 1 && json.Valid(payload):
		format = "JSON"
	}
	back := reflect.New(reflect.TypeOf(v.in))
	if err := chime.Decode(payload, back.Interface()); err != nil {
		t.Errorf("%s: %v", v.what, err)
		return ""
	}
	want := v.got
	if want == nil {
		want = v.in
	}
	if got := back.Elem().Interface(); !reflect.DeepEqual(got, want) && fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("%s: %q arrives as %#v, want %#v", v.what, payload, got, want)
	}
	if v.note == "" {
		return fmt.Sprintf("| %s | %s | the same |", v.what, format)
	}
	return fmt.Sprintf("| %s | %s | %s |", v.what, format, v.note)
}

func TestTheTableOfGoValuesIsWhatArrives(t *testing.T) {
	text, err := os.ReadFile("arguments.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "| Go value | stored as | arrives as |\n|---|---|---|\n"
	_, table, _ := strings.Cut(string(text), head)
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for _, v := range goValues() {
		rows = append(rows, v.row(t))
	}
	if want := strings.Join(rows, "\n"); strings.TrimSpace(table) != want {
		t.Errorf("docs/arguments.md has to have this table of %d rows:\n%s%s", len(rows), head, want)
	}
}
