package docs_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The types of this file have the fields and methods of types in popular libraries, so that the tests need no further modules.

// A decimalNumber is like decimal.Decimal of shopspring.
type decimalNumber struct {
	value *big.Int
	exp   int32
}

func newDecimal(n int64, exp int32) decimalNumber { return decimalNumber{big.NewInt(n), exp} }

func (d decimalNumber) IsZero() bool { return d.value == nil || d.value.Sign() == 0 }

func (d decimalNumber) String() string {
	if d.value == nil {
		return "0e0"
	}
	return fmt.Sprintf("%se%d", d.value, d.exp)
}

func (d decimalNumber) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d *decimalNumber) UnmarshalText(b []byte) error {
	number, exp, _ := strings.Cut(string(b), "e")
	n, err := strconv.Atoi(exp)
	value, ok := new(big.Int).SetString(number, 10)
	if err != nil || !ok {
		return errors.New("not a decimal")
	}
	d.value, d.exp = value, int32(n)
	return nil
}

func (d decimalNumber) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

func (d *decimalNumber) UnmarshalJSON(b []byte) error {
	return d.UnmarshalText(bytes.Trim(b, `"`))
}

func (d decimalNumber) MarshalBinary() ([]byte, error) {
	b := binary.BigEndian.AppendUint32(nil, uint32(d.exp))
	if d.value == nil {
		return b, nil
	}
	return append(b, d.value.Bytes()...), nil
}

func (d *decimalNumber) UnmarshalBinary(b []byte) error {
	d.exp, d.value = int32(binary.BigEndian.Uint32(b)), new(big.Int).SetBytes(b[4:])
	return nil
}

// A uuidValue is like uuid.UUID of google, and like ulid.ULID of oklog.
type uuidValue [16]byte

func (u uuidValue) MarshalText() ([]byte, error)    { return []byte(hex.EncodeToString(u[:])), nil }
func (u *uuidValue) UnmarshalText(b []byte) error   { _, err := hex.Decode(u[:], b); return err }
func (u uuidValue) MarshalBinary() ([]byte, error)  { return u[:], nil }
func (u *uuidValue) UnmarshalBinary(b []byte) error { copy(u[:], b); return nil }

// A nullUUID is like uuid.NullUUID of google.
type nullUUID struct {
	UUID  uuidValue
	Valid bool
}

func (n nullUUID) MarshalBinary() ([]byte, error) {
	if !n.Valid {
		return []byte(nil), nil
	}
	return n.UUID[:], nil
}

func (n *nullUUID) UnmarshalBinary(b []byte) error {
	n.Valid = len(b) > 0
	copy(n.UUID[:], b)
	return nil
}

// An objectID is like bson.ObjectID, and like xid.ID of rs.
type objectID [12]byte

func (o objectID) MarshalText() ([]byte, error)  { return []byte(hex.EncodeToString(o[:])), nil }
func (o *objectID) UnmarshalText(b []byte) error { _, err := hex.Decode(o[:], b); return err }
func (o objectID) MarshalJSON() ([]byte, error)  { return json.Marshal(hex.EncodeToString(o[:])) }
func (o *objectID) UnmarshalJSON(b []byte) error { return o.UnmarshalText(bytes.Trim(b, `"`)) }

// A moneyValue is like money.Money of Rhymond.
type moneyValue struct {
	amount   int64
	currency string
}

func (m moneyValue) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"amount": m.amount, "currency": m.currency})
}

func (m *moneyValue) UnmarshalJSON(b []byte) error {
	var read struct {
		Amount   int64
		Currency string
	}
	err := json.Unmarshal(b, &read)
	m.amount, m.currency = read.Amount, read.Currency
	return err
}

// A nullString is like null.String of guregu.
type nullString struct {
	String string
	Valid  bool
}

func (n nullString) IsZero() bool                 { return !n.Valid }
func (n nullString) MarshalText() ([]byte, error) { return []byte(n.String), nil }

func (n *nullString) UnmarshalText(b []byte) error {
	n.String, n.Valid = string(b), len(b) > 0
	return nil
}

func (n nullString) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.String)
}

func (n *nullString) UnmarshalJSON(b []byte) error {
	n.Valid = string(b) != "null"
	return json.Unmarshal(b, &n.String)
}

// An option may have a value.
type option[T any] struct {
	isPresent bool
	value     T
}

func (o option[T]) MarshalJSON() ([]byte, error) {
	if !o.isPresent {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

func (o *option[T]) UnmarshalJSON(b []byte) error {
	o.isPresent = string(b) != "null"
	return json.Unmarshal(b, &o.value)
}

// A numeric is like pgtype.Numeric of jackc.
type numeric struct {
	Int   *big.Int
	Exp   int32
	NaN   bool
	Valid bool
}

// A timestamp is like timestamppb.Timestamp of protobuf.
type timestamp struct {
	//lint:ignore U1000 protobuf types have such fields
	state sync.Mutex
	//lint:ignore U1000 protobuf types have such fields
	unknownFields []byte
	Seconds       int64 `json:"seconds,omitempty"`
	Nanos         int32 `json:"nanos,omitempty"`
}

// A protoStruct is like structpb.Struct of protobuf.
type protoStruct struct {
	//lint:ignore U1000 protobuf types have such fields
	state  sync.Mutex
	Fields map[string]*protoValue
}

type protoValue struct{ Kind isProtoKind }

type isProtoKind interface{ isProtoKind() }

type protoText struct{ Text string }

func (*protoText) isProtoKind() {}

func (p *protoStruct) MarshalJSON() ([]byte, error) {
	texts := map[string]string{}
	for key, value := range p.Fields {
		texts[key] = value.Kind.(*protoText).Text
	}
	return json.Marshal(texts)
}

func (p *protoStruct) UnmarshalJSON(b []byte) error {
	var texts map[string]string
	err := json.Unmarshal(b, &texts)
	p.Fields = map[string]*protoValue{}
	for key, text := range texts {
		p.Fields[key] = &protoValue{&protoText{text}}
	}
	return err
}

// A civilDate is like civil.Date of Google Cloud.
type civilDate struct {
	Year  int
	Month time.Month
	Day   int
}

func (d civilDate) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%04d-%02d-%02d", d.Year, d.Month, d.Day), nil
}

func (d *civilDate) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "%d-%d-%d", &d.Year, &d.Month, &d.Day)
	return err
}

// A status is a number that JSON shows as a word.
type status int

func (s status) MarshalJSON() ([]byte, error) {
	return json.Marshal([]string{"", "open", "closed"}[s])
}

func (s *status) UnmarshalJSON(b []byte) error {
	*s = map[string]status{`"open"`: 1, `"closed"`: 2}[string(b)]
	return nil
}

// A priceTag has the methods of the decimal that it embeds.
type priceTag struct {
	decimalNumber
	Currency string
}

// An endpoint has the methods of the address that it embeds.
type endpoint struct {
	netip.Addr
	Port int
}

type person struct {
	ID   int
	name string
}

type Named struct{ Name string }

type onlyHidden struct{ secret int }

// A hiddenText does not show itself.
type hiddenText string

func (hiddenText) MarshalText() ([]byte, error) { return []byte("***"), nil }

type writesOnly struct{ n int }

func (w writesOnly) MarshalJSON() ([]byte, error) { return json.Marshal(w.n) }
