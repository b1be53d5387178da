package collection

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Record is a collection as it is stored. To [Records.Put] a program gives Name, State, MaxNames, Data and the Revision that it has
// seen; the rest is the store's.
type Record struct {
	Name     string          `json:"name"`           // 1 to 100 of A-Z a-z 0-9 _ . : -
	State    State           `json:"state"`          // empty in a Put: enabled
	MaxNames int             `json:"max_names"`      // how many names it may have: 1 to 100,000; 0 in a Put: 100,000
	Data     json.RawMessage `json:"data,omitempty"` // the program's own: JSON of at most 16 KiB, kept without superfluous space; nil: none

	Revision   int64 `json:"revision"`             // grows with every change, but not with names, sweeps and the end of a transition
	Creation   int64 `json:"creation"`             // no other collection ever has it, not even a later one of the name
	Transition int64 `json:"transition,omitempty"` // the change of state that was not finished; 0: none

	Created time.Time `json:"created"` // by the store's clock, in milliseconds
	Changed time.Time `json:"changed"` // when it got its revision
	Swept   time.Time `json:"swept"`   // see [Records.Swept]; of a new one when it was created
}

// A State says what may be done with a collection.
type State string

const (
	Enabled  State = "enabled"  // as long as nothing else is said
	Disabled State = "disabled" // takes names as before; what else it means the program says
	Deleted  State = "deleted"  // takes no names and changes no more: it is there until Delete
)

// put is what to store; its error says all that is wrong.
func (c *Record) put() (protocol.CollectionPut, error) {
	put := protocol.CollectionPut{
		Name: c.Name, Revision: c.Revision, State: string(cmp.Or(c.State, Enabled)), MaxNames: cmp.Or(c.MaxNames, protocol.MaxCollectionNames),
		Data: []byte("null"),
	}
	bad := []error{protocol.CheckName("collection", c.Name)}
	switch c.State {
	case "", Enabled, Disabled:
	case Deleted:
		if c.Revision == 0 {
			bad = append(bad, protocol.Because(protocol.Invalid("Collection.State", "deleted", "enabled or disabled"), "comes without a Revision"))
		}
	default:
		bad = append(bad, protocol.Invalid("Collection.State", string(c.State), "enabled, disabled or deleted"))
	}
	if c.MaxNames < 0 || c.MaxNames > protocol.MaxCollectionNames {
		bad = append(bad, protocol.Invalid("Collection.MaxNames", strconv.Itoa(c.MaxNames), "1 to 100000, or 0 for the most"))
	}
	if c.Revision < 0 {
		bad = append(bad, protocol.Invalid("Collection.Revision", strconv.FormatInt(c.Revision, 10), "one that was read, or 0"))
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

// newRecord is a collection as it is shown.
func newRecord(f protocol.Collection) *Record {
	return &Record{
		Name: f.Name, State: State(f.State), MaxNames: f.MaxNames, Data: f.Data,
		Revision: f.Revision, Creation: f.Creation, Transition: f.Transition, Created: f.Created, Changed: f.Changed, Swept: f.Swept,
	}
}
