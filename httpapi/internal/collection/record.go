package collection

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Record is a collection as it is stored. A caller of [Records.Put] sets Name, State, MaxNames, Data, Owner, MaxOwned and the Revision that it has
// read; the store sets the rest.
type Record struct {
	Name     string          `json:"name"`            // 1 to 100 of A-Z a-z 0-9 _ . : -
	State    State           `json:"state"`           // empty in a Put: enabled
	MaxNames int             `json:"max_names"`       // the maximum number of names: 1 to 100,000; 0 in a Put: 100,000
	Data     json.RawMessage `json:"data,omitempty"`  // the program's own: JSON of at most 16 KiB, kept without superfluous space; nil: none
	Owner    string          `json:"owner,omitempty"` // 1 to 100 characters without control characters, quotes and backslashes; empty: none
	MaxOwned int             `json:"-"`               // in a Put of a new one: the collections that its owner may have with it; 0: any number

	Revision   int64 `json:"revision"`             // grows with every change, but not with names, sweeps or the end of a transition
	Creation   int64 `json:"creation"`             // unique, even among later collections of the same name
	Transition int64 `json:"transition,omitempty"` // the unfinished change of state; 0: none

	Created time.Time `json:"created"` // by the store's clock, in milliseconds
	Changed time.Time `json:"changed"` // the time of its revision
	Swept   time.Time `json:"swept"`   // see [Records.Swept]; for a new one the time of its creation
}

// A State limits what can be done with a collection.
type State string

const (
	Enabled  State = "enabled"  // the default
	Disabled State = "disabled" // accepts names; the program defines its further meaning
	Deleted  State = "deleted"  // accepts no names and no changes; it exists until Delete
)

// put returns the record to store; its error lists all mistakes.
func (c *Record) put() (protocol.CollectionPut, error) {
	put := protocol.CollectionPut{
		Name: c.Name, Revision: c.Revision, State: string(cmp.Or(c.State, Enabled)), MaxNames: cmp.Or(c.MaxNames, protocol.MaxCollectionNames),
		Data: []byte("null"), Owner: c.Owner, MaxOwned: c.MaxOwned,
	}
	bad := []error{protocol.CheckName("collection", c.Name)}
	switch c.State {
	case "", Enabled, Disabled:
	case Deleted:
		if c.Revision == 0 {
			bad = append(bad, protocol.Because(protocol.Invalid("Collection.State", "deleted", "enabled or disabled"), "is only allowed with a Revision"))
		}
	default:
		bad = append(bad, protocol.Invalid("Collection.State", string(c.State), "enabled, disabled or deleted"))
	}
	if c.MaxNames < 0 || c.MaxNames > protocol.MaxCollectionNames {
		bad = append(bad, protocol.Invalid("Collection.MaxNames", strconv.Itoa(c.MaxNames), "1 to 100000, or 0 for the maximum"))
	}
	if c.Owner != "" && (!ownerForm.MatchString(c.Owner) || !utf8.ValidString(c.Owner)) {
		bad = append(bad, protocol.Invalid("Collection.Owner", c.Owner, "1 to 100 characters without control characters, quotes and backslashes"))
	}
	if c.MaxOwned < 0 {
		bad = append(bad, protocol.Invalid("Collection.MaxOwned", strconv.Itoa(c.MaxOwned), "a positive number, or 0 for any number"))
	}
	if c.Revision < 0 {
		bad = append(bad, protocol.Invalid("Collection.Revision", strconv.FormatInt(c.Revision, 10), "a revision that was read, or 0"))
	}
	if len(c.Data) > 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, c.Data); err != nil {
			bad = append(bad, protocol.Invalid("Collection.Data", string(c.Data), "JSON"))
		}
		if put.Data = compact.Bytes(); len(put.Data) > protocol.MaxCollectionData {
			bad = append(bad, protocol.Invalid("Collection.Data", fmt.Sprintf("%d bytes", len(put.Data)), fmt.Sprintf("at most %d bytes", protocol.MaxCollectionData)))
		}
	}
	return put, errors.Join(bad...)
}

var ownerForm = regexp.MustCompile(`^[^"\\\pC]{1,100}$`)

// newRecord converts a stored collection.
func newRecord(f protocol.Collection) *Record {
	return &Record{
		Name: f.Name, State: State(f.State), MaxNames: f.MaxNames, Data: f.Data, Owner: f.Owner,
		Revision: f.Revision, Creation: f.Creation, Transition: f.Transition, Created: f.Created, Changed: f.Changed, Swept: f.Swept,
	}
}
